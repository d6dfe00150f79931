#!/usr/bin/perl
# All fuzz targets, by libFuzzer with ASan and UBSan, two beside each other.
# `make fuzz-smoke` gives each a bounded number of inputs, always the same ones,
# and keeps none. `make check-full` gives each FUZZ_SECONDS and begins with what
# the runs before it collected, in t/fuzz/grown of FUZZ_BUILD, the build that has
# the targets. A finding fails; its input stays in t/fuzz/found there.
use strict;
use warnings;

use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

use BrowserTask::Size qw(figure seeded sized);

my ($src, $build) = ($ENV{srcdir}, $ENV{FUZZ_BUILD} // $ENV{builddir});
my $here = "$build/t/fuzz";
my @targets = map { m{/fuzz_(\w+)\.c$} } glob "$src/t/fuzz/fuzz_*.c";

plan skip_all => 'clang is not installed (clang, libclang-rt-14-dev)'
    if !-e "$here/json_fuzz" && system('command -v clang >/dev/null') != 0;

my $seed = seeded();
my $seconds = sized('seconds for each fuzz target', 0,
	$ENV{FUZZ_SECONDS} || 60);
# Without a time: one or two seconds each on a quiet machine.
my %inputs = (ipc_scan => 40000, ipc_msg => 40000, launch => 20000,
	conf => 20000, json => 10000, ipc_chan => 5000);
# No parser takes more memory at once than twice a frame of 8 MiB.
my @limits = qw(-max_len=4096 -timeout=60 -rss_limit_mb=1024
    -malloc_limit_mb=16);

my $tmp = tempdir(CLEANUP => 1);
my $grown = $seconds ? "$here/grown" : "$tmp/grown";
make_path("$here/found");

# What is new goes into the first directory.
sub start {
	my ($target) = @_;
	my @args = (@limits, "-seed=$seed",
		"-artifact_prefix=$here/found/$target-",
		$seconds ? "-max_total_time=$seconds"
		: '-runs=' . ($inputs{$target} // 3000));

	push @args, "-dict=$here/made/$target.dict"
	    if -f "$here/made/$target.dict";
	make_path("$grown/$target");
	push @args, grep { -d } "$grown/$target", "$src/t/fuzz/corpus/$target",
	    "$here/made/$target";
	my $pid = fork() // die "fork: $!\n";
	return $pid if $pid > 0;
	open(STDOUT, '>', "$tmp/$target.log") or die "$target.log: $!\n";
	open(STDERR, '>&', \*STDOUT) or die "$target.log: $!\n";
	exec "$here/${target}_fuzz", @args or die "${target}_fuzz: $!\n";
}

sub slurp {
	my ($path) = @_;
	open(my $fh, '<:raw', $path) or die "$path: $!\n";
	local $/;
	return scalar <$fh>;
}

# Returns the number of executions. The corpus is inputs/bytes.
sub report {
	my ($target, $status) = @_;
	my $log = slurp("$tmp/$target.log");
	my ($before) = $log =~ /^#\d+\tINITED cov: (\d+)/m;
	my ($tried, $cov, $corpus) =
	    $log =~ m{^#(\d+)\tDONE +cov: (\d+) .*? corp: (\S+)}m;

	if (!ok($status == 0 && $tried, "$target: no finding")) {
		diag(join "\n", grep { defined }
		    (split /\n/, $log =~ s/[^\n -~]/?/gr)[-60 .. -1]);
		return 0;
	}
	figure('%s: %d executions, coverage %d from %d, corpus %s', $target,
	    $tried, $cov, $before // 0, $corpus);
	return $tried;
}

my ($tried, @todo, %running) = (0, @targets);
while (@todo || %running) {
	if (@todo && keys %running < 2) {
		my $target = shift @todo;
		$running{ start($target) } = $target;
		next;
	}
	my $target = delete $running{ waitpid(-1, 0) } // next;
	$tried += report($target, $?);
}
figure('%d fuzz targets, %d executions', scalar @targets, $tried);
done_testing();
