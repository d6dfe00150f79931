#!/usr/bin/perl
# browsertaskctl sees the end of a check before supervisord hears of it, so that
# one that followed at once could be refused.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(sized);
use Test::More;

my $rows = sized('fsck, backup and fsck in a row', 5, 100);
my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);

sub admin { return BrowserTask::Client->new($i->admin_sock) }

# The launcher does not tell the end of a copy: more than a socket holds, it goes
# on until it is read.
is($c->run('scripted', { do => [ ('big') x 4 ] }, { mode => 'sync' })->{status},
	'succeeded', "run $_") for 1 .. 4;
my $copy = admin();
ok($copy->call('store.backup', {})->{accepted}, 'a copy begins');
is(($copy->event // [''])->[0], 'store.file', '... with a file');
# It may not have closed what it gave away to who copies.
wait_until(60, sub {
	grep { $_->{pid} == $i->{pid} && $_->{state} eq 'S' } tree();
});
kill 'STOP', $i->{pid};
ok($copy->closed, 'it ends for its client');
my $check = admin();
my $seq = $check->send('store.check', {});
$check->call('profile.get');
ok(!exists $check->{answers}{$seq}, 'before that is known a check waits');
kill 'CONT', $i->{pid};
ok($check->answer($seq)->{accepted}, '... and begins then');
ok($check->closed, '... and ends');

my %refused;
for my $n (1 .. $rows) {
	for my $do ([ 'fsck' ], [ 'backup', $i->dir . "/copy$n" ], [ 'fsck' ]) {
		my ($status, $out, $err) = $i->ctl(@$do);
		$refused{"$do->[0]: $err"}++ if $status != 0;
	}
}
is(join('', sort keys %refused), '', "$rows in a row: none is refused");
is($i->stop, 0, 'stop');
done_testing;
