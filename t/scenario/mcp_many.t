#!/usr/bin/perl
# Many agents at once: as many adapters as $MANY says, 200 unless it does, speak
# to one service; all are answered, and nothing of them is left when they have
# gone. With $MANY it prints what they took. What browser there is does nothing.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time);

my $many = $ENV{MANY} // 200;

sub supervisord {
	my ($i) = @_;
	my ($p) = grep { $_->{cmd} =~ /^supervisord/ } tree($i->{pid});
	return $p->{pid};
}

sub descriptors { return scalar(() = glob("/proc/$_[0]/fd/*")) }

sub pss_kib {
	my $text = BrowserTask::Harness::slurp("/proc/$_[0]/smaps_rollup");
	return ($text // '') =~ /^Pss:\s+(\d+)/m ? $1 : 0;
}

# Asks all, then waits for all: how long each answer took.
sub ask_all {
	my ($all, $what, $ask, $good) = @_;
	my (@ids, @took);
	my $bad = 0;

	my @began = map { push @ids, $ask->($_); time } @$all;
	for my $n (0 .. $#$all) {
		my $a = $all->[$n]->answer($ids[$n], 60);
		push @took, time - $began[$n];
		$bad++ if !$a || !$a->{result} || !$good->($a->{result});
	}
	is($bad, 0, "$what: each of $many is answered");
	diag(sprintf('%s: %.0f ms at the median, %.0f ms the 99th', $what,
		1000 * quantile(0.5, @took), 1000 * quantile(0.99, @took)))
	    if $ENV{MANY};
}

my $i = BrowserTask::Harness->new(mode => 'user',
    settings => ['warmCells=0', 'maxClients=' . ($many + 20)])->start;
my $first = BrowserTask::Mcp->new(instance => $i);
$first->init;
my $run = $first->tool('run_task_template', {
	templateId => 'batch_extract_pages',
	inputs => { urls => ['http://127.0.0.1:1/'] },
	options => { mode => 'async' } })->{structuredContent}{runId};
ok($run, 'there is a run to ask for');
$first->tool('cancel_task_run', { runId => $run });
$first->eof;
is($first->wait(20), 0, '  by one who has gone');
ok(ended(client($i), $run), '  and it is over');

my $pid = supervisord($i);
my $fds = descriptors($pid);
my $before = pss_kib($pid);
my @all = map { BrowserTask::Mcp->new(instance => $i) } 1 .. $many;

ask_all(\@all, 'initialize', sub {
	return $_[0]->request('initialize', { protocolVersion => '2025-11-25',
		capabilities => {},
		clientInfo => { name => 'many', version => '1' } });
}, sub { $_[0]{serverInfo} });
ask_all(\@all, 'list', sub { $_[0]->call('list_task_runs', { limit => 1 }) },
    sub { $_[0]{structuredContent}{total} == 1 });
ask_all(\@all, 'get', sub {
	$_[0]->call('get_task_run', { runId => $run });
}, sub { $_[0]{structuredContent}{runId} eq $run });

my $held = pss_kib($pid);
my $each = ($held - $before) / $many;
diag(sprintf('supervisord: %d KiB with all of them, %.1f KiB for each; '
	. 'an adapter: %d KiB', $held, $each, pss_kib($all[0]{pid})))
    if $ENV{MANY};
cmp_ok($each, '<', 64, 'none takes more than a little of supervisord')
    unless $ENV{ASAN_OPTIONS};

$_->eof for @all;
is(scalar(grep { ($_->wait(20) // -1) != 0 } @all), 0, 'all end well');
ok(wait_until(60, sub { descriptors($pid) <= $fds }),
    'no descriptor is left of them');
is(supervisord($i), $pid, 'the service is the one that was');
is($i->stop, 0, 'and stops');
done_testing();
