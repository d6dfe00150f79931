#!/usr/bin/perl
# With a few descriptors only, the launcher said that its state directory was
# somebody else's, or that all blocks of uids were taken by other instances.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
plan skip_all => 'sanitizers want descriptors, too'
    if qx(nm -D $build/launcher/browsertaskd 2>&1) =~ /__asan_init|__ubsan/;
my $why = qr/Too many open files|Error 24\b|\d+ descriptors are needed/;

for my $n (4 .. 24) {
	my $i = BrowserTask::Harness->new(
		browser => "$build/t/launch/fake-headless-shell");
	$i->{under} = [ 'prlimit', "--nofile=$n:$n", '--' ];
	my $status = $i->launch->wait(60);
	ok(defined $status && $status >> 8, "$n descriptors: it ends")
	    or diag $i->log;
	like($i->log, $why, '  and says why');
	unlike($i->log, qr/name an empty|are taken by/, '  and nothing else');
	$i->stop if !defined $status;
}
done_testing();
