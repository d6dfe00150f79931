#!/usr/bin/perl
# An older copy of the store that was put back was "sound": the log of its audit
# ends earlier, and nothing outside of it was compared. Now the launcher records
# the last row where supervisord cannot write, and a start or a check that finds
# the log without it says so. What browsertaskctl restore makes is told as that.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my %opt = (scripted => 1);
my $i = BrowserTask::Harness->new(%opt)->start;
my $c = client($i);
my $state = $i->state_dir;
my $record = "$state.audit/last";

sub recorded {
	my $text = BrowserTask::Harness::slurp($record) // '';
	return $text =~ /^0*(\d+):([0-9a-f]{64})\n\z/ ? ($1, $2) : (0, '');
}

sub verify { return $_[0]->ctl('audit', 'verify') }

sub run { return $c->run('scripted', { do => ['item'] }, { mode => 'sync' }) }

sub last_row {
	my $v = BrowserTask::Client->new($i->admin_sock)
	    ->call('audit.verify', {});
	return ($v->{lastRow}, $v->{lastHash});
}

is(run()->{status}, 'succeeded', 'a run');
my @last = last_row();
ok(wait_until(30, sub { (recorded())[0] >= $last[0] }), 'its rows are recorded');
is_deeply([ recorded() ], [ last_row() ], 'by number and hash');
my $mode = (stat "$state.audit")[2] & 0777;
is($mode, 0700, 'in a directory of the launcher alone');
isnt((stat "$state.audit")[4], (stat $state)[4], '... and not supervisord\'s')
    if $> == 0;
my ($status, $out, $err) = verify($i);
is($status, 0, 'the log is sound') or diag $out, $err;
unlike($err, qr/not compared/, '... and was compared with the record');
like(($i->ctl('doctor'))[1], qr/^ok +audit log +has the row/m,
    'doctor compares, too');
is(($i->ctl('backup', $i->dir . '/backup'))[0], 0, 'a backup');

is($i->stop, 0, 'it stops');
my ($rows) = recorded();
system('cp', '-a', "$state/store", $i->dir . '/older') == 0 or die;
$i->start;
$c = client($i);
run() for 1 .. 4;
my @before = last_row();
ok(wait_until(30, sub { (recorded())[0] == $before[0] }), 'there are more rows');
kill 'KILL', $i->{pid};
$i->wait;
is(left(60), '', 'the launcher is killed');
$i->start;
($status, $out) = verify($i);
is($status, 0, 'a crash leaves a sound log') or diag $out;
is($i->stop, 0, 'it stops');
($rows) = recorded();

system('rm', '-r', "$state/store") == 0 or die;
system('cp', '-a', $i->dir . '/older', "$state/store") == 0 or die;
$i->start;
$c = client($i);
like($i->log, qr/audit: row $rows was recorded, but the log ends before it/,
    'a start on an older copy is logged');
($status, $out, $err) = verify($i);
is($status >> 8, 1, 'it is not sound');
like($out, qr/NOT sound: row \d+ tells that an older copy of the store was/,
    '... and says why');
like($err, qr/look at who could write/, '... and what to do');
like(($i->ctl('doctor'))[1], qr/^FAIL +audit log +an older copy of the store/m,
    'doctor says so, too');
run() for 1 .. 3;
is(($i->ctl('restart'))[0], 0, 'started anew');
($status, $out) = verify($i);
is($status >> 8, 1, '... it is no more sound than before');
is($i->stop, 0, 'it stops');

system('mv', $state, $i->dir . '/away') == 0 or die;
($status, undef, $err) = $i->ctl('restore', '--state-dir', $state,
    $i->dir . '/backup');
is($status, 0, 'the backup is restored in its place') or diag $err;
$i->start;
$c = client($i);
is(run()->{status}, 'succeeded', 'it serves');
($status, $out) = verify($i);
is($status, 0, 'what was restored is sound') or diag $out, $i->log;
like($out, qr/row \d+ tells that the store was restored from a backup/,
    '... and told as restored');
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
