#!/usr/bin/perl
# promises: what the tests of each promise tried, measured and found, as a table
# in Markdown. Reads the table in CONTRIBUTING.md and, in the build directory
# where it runs, the logs of the last `make check` or `make check-full`; the
# lines `size:` and `figure:` in them are those of BrowserTask::Size. Ends with
# 1 if a test failed or did not run.
#
#   promises.pl SOURCE [BEGAN]     BEGAN: when the tests began, in seconds since
#                                  1970; what was tried before counts for nothing
use strict;
use warnings;

my ($source, $began) = @ARGV;
die "usage: promises.pl SOURCE [BEGAN]\n" if !defined $source;

sub slurp {
	my ($path) = @_;
	open(my $fh, '<', $path) or return undef;
	local $/;
	return scalar <$fh>;
}

# How a test ended, what it said of its sizes and figures, each once.
sub look {
	my ($test) = @_;
	my $name = $test =~ s/\.t$//r;
	my $when = (stat "$name.trs")[9] // 0;
	my $results = $when < ($began // 0) ? undef : slurp("$name.trs");
	my $log = slurp("$name.log") // '';
	my (%seen, %said, %count);

	return { missing => 1, outcome => 'did not run' } if !defined $results;
	$count{$_}++ for $results =~ /^:test-result: (\w+)/mg;
	while ($log =~ /^\s*# (size|figure): (.*)/mg) {
		push @{ $said{$1} }, $2 if !$seen{$2}++;
	}
	my $bad = ($count{FAIL} // 0) + ($count{ERROR} // 0)
	    + ($count{XPASS} // 0);
	my $good = $count{PASS} // 0;
	return { %said, failed => $bad > 0,
		outcome => $bad ? "$bad failed" : $good ? 'kept' : 'skipped' };
}

sub cell {
	my ($lines) = @_;
	return join '; ', map { s/\|/\\|/gr } @{ $lines // [] };
}

my $table = slurp("$source/CONTRIBUTING.md") // die "no CONTRIBUTING.md\n";
my ($promises, $tests, $failed, $missing) = (0, 0, 0, 0);
print "| | tried by | size | figures | outcome |\n|---|---|---|---|---|\n";
while ($table =~ /^\| (P\d+) \| ([^|]+) \| (.*) \|$/mg) {
	my ($number, $promise, $by) = ($1, $2, $3);
	$promises++;
	print "| **$number** | **$promise** | | | |\n";
	for my $test (split ' ', $by) {
		my $t = look($test);
		$tests++;
		$failed++ if $t->{failed};
		$missing++ if $t->{missing};
		print "| $number | $test | ", cell($t->{size}), ' | ',
		    cell($t->{figure}), " | $t->{outcome} |\n";
	}
}
my $seconds = time - ($began // 0);
my ($version) = (slurp('config.h') // '') =~ /PACKAGE_VERSION "([^"]*)"/;
printf "\n%d promises, %d tests, %d of them failed, %d did not run; version %s%s"
    . "\n", $promises, $tests, $failed, $missing, $version // 'unknown',
    defined $began ? sprintf('; %d:%02d:%02d for all tests',
	$seconds / 3600, $seconds / 60 % 60, $seconds % 60) : '';
exit($failed + $missing ? 1 : 0);
