#!/usr/bin/perl
# A worker that could not keep all it said is ended, and its run begins again:
# what it says right behind that answer must neither wait for a spool that is gone
# nor be stored. In adopt.t such a worker has nothing left to say.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Points;
use BrowserTask::Scenario;
use Test::More;

my $i = BrowserTask::Points::crashing();
my $c = client($i);
my @do = qw(forget item item item hold1 item);

# Of the first three items none is acknowledged: all come again.
BrowserTask::Points::put($i, 'crash', 'spool_appended:3');
my $id = $c->call('run.submit', { templateId => 'scripted',
	inputs => { do => \@do }, options => { mode => 'async' } })->{runId};
ok($id, 'a run begins');
ok(BrowserTask::Points::met($i), 'supervisord ends in the middle of its items');
wait_until(60, sub { $c = eval { client($i) } });
my $r = ended($c, $id);
is("$r->{status} $r->{attempt}", 'succeeded 2', 'the run begins again')
    or diag explain $r;
is($r->{result}{summary}{succeeded}, 4, 'and has each item')
    or diag explain $r->{result};
is($r->{result}{summary}{total}, 4, 'once');
unlike($i->log, qr/progress was not stored/, 'no row came too late');
my ($status, $out) = $i->ctl('fsck');
is($status, 0, 'the store is sound') or diag $out;
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
