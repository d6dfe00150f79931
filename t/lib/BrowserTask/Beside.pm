# Beside: parts of a test at the same time, each in a process of its own, so
# that what one waits for costs the others no time.
#
#   beside(NAME => sub, ...)   each part becomes one test of the caller, its own
#                              tests are shown below it; as many at once as
#                              there are processors and one more
#   each_mode(sub)             the same with the modes of the harness as parts;
#                              the sub gets the mode
#   mode_parts(NAME => sub, ...)   such parts, each of these with each mode
#
# The test starts itself once for each part, with the part's name in BESIDE, so
# all that stands before and behind the call is done for each part, too. There
# is one such call in a test.
# BESIDE=NAME by hand runs that part only.
package BrowserTask::Beside;
use strict;
use warnings;
use BrowserTask::Harness ();
use Exporter qw(import);
use File::Temp ();
use POSIX ();
use Test::More ();
our @EXPORT = qw(beside each_mode mode_parts);

use constant PR_SET_PDEATHSIG => 1;

# Returns the process and the file with all that it says.
sub start {
	my ($name) = @_;
	my $out = File::Temp::tempfile();
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0) {
		BrowserTask::Harness::prctl(PR_SET_PDEATHSIG, 15);
		$ENV{BESIDE} = $name;
		open(STDOUT, '>&', $out) or POSIX::_exit(126);
		open(STDERR, '>&', $out) or POSIX::_exit(126);
		exec $^X, (map { "-I$_" } @INC), $0 or POSIX::_exit(127);
	}
	return ($pid, $out);
}

sub report {
	my ($name, $status, $out) = @_;
	my $test = Test::More->builder;

	seek $out, 0, 0;
	my @lines = <$out>;
	print { $test->output } "    $_" for @lines;
	# That includes what it died of.
	$test->ok($status == 0, $name)
	    or $test->diag(grep { !/^\s*(?:ok \d|\d+\.\.\d)/ } @lines);
}

sub beside {
	my %sub = @_;
	my @todo = @_[ grep { $_ % 2 == 0 } 0 .. $#_ ];
	my (%running, $name);

	if (defined($name = delete $ENV{BESIDE})) {
		Test::More::subtest($name => $sub{$name} // die "no $name\n");
		return;
	}
	my $most = 1 + POSIX::sysconf(84);    # _SC_NPROCESSORS_ONLN
	while (@todo || %running) {
		if (@todo && keys %running < $most) {
			$name = shift @todo;
			my ($pid, $out) = start($name);
			$running{$pid} = [ $name, $out ];
			next;
		}
		my $pid = waitpid(-1, 0);
		my $part = delete $running{$pid} or next;
		report($part->[0], $?, $part->[1]);
	}
}

sub each_mode {
	my ($sub) = @_;
	beside(map { my $mode = $_; $mode => sub { $sub->($mode) } }
	    BrowserTask::Harness::modes());
}

# To be given to beside().
sub mode_parts {
	my @tests = @_;
	my @parts;

	for my $mode (BrowserTask::Harness::modes()) {
		for my $n (grep { $_ % 2 == 0 } 0 .. $#tests) {
			my $sub = $tests[ $n + 1 ];
			push @parts, "$mode: $tests[$n]", sub { $sub->($mode) };
		}
	}
	return @parts;
}

1;
