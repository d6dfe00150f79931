#!/usr/bin/perl
# A refusal said "field limit is out of range", not which range; and one about
# a run did not name the run.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Test::More;

my $run = 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV';
my $i = BrowserTask::Harness->new->start;
my $c = BrowserTask::Client->new($i->client_sock);

my $e = $c->call('run.list', { limit => 1001 });
is($e->{errorCode}, 'INVALID_PARAMETER', 'above the range: refused');
is($e->{message}, 'run.list: field limit is 1001, but must be from 1 to 1000',
	'with the range');
$e = $c->call('run.list', { offset => 'two' });
is($e->{message}, 'run.list: field offset must be integer', 'the type');
$e = $c->call('run.get', { runId => 'x' x 65 });
is($e->{message}, 'run.get: field runId has 65 bytes, but must have from 1 '
	. 'to 64', 'the length');
$e = $c->call('run.get', { runId => "a\0b" });
is($e->{message}, 'run.get: field runId has a NUL', 'what is wrong in it');
for my $p ({ afterSeq => -1 }, { timeoutMs => 60001 }) {
	$e = $c->call('run.events', { runId => $run, %$p });
	is($e->{errorCode}, 'INVALID_PARAMETER', "@{[ %$p ]}: refused");
	is($e->{runId}, $run, 'names the run');
}

done_testing;
