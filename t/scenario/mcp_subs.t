#!/usr/bin/perl
# Subscriptions to runs in both eras, with raw lines; also over a restart of
# the service.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $sid = 'io.modelcontextprotocol/subscriptionId';
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(settings => ['maxConcurrentRuns=2'])->start;
my $actor = BrowserTask::Mcp->new(instance => $i);
$actor->init;

sub start_run {
	my $d = $actor->tool('run_task_template', {
		templateId => 'batch_extract_pages',
		inputs => { urls => [ $site->url($_[0]) ] },
		options => { mode => 'async' } })->{structuredContent};
	return $d->{runId};
}

sub cancel_run {
	return $actor->tool('cancel_task_run', { runId => $_[0] })
	    ->{structuredContent}{success};
}

# The next notification.
sub heard {
	my ($m, $seconds) = @_;
	my $n = shift @{ $m->{notes} };
	return $n // $m->line($seconds // 60);
}

# Notifications until the run has ended, the last one read after the end; how
# many there were.
sub follow {
	my ($m, $run) = @_;
	my $count = 0;
	while (my $n = heard($m)) {
		die "a stranger's: $n->{params}{uri}\n"
		    if $n->{params}{uri} ne "run://$run";
		$count++;
		my $r = $m->ask('resources/read', { uri => "run://$run" });
		return $count if $r->{result}{contents}[0]{text}
		    =~ /"status":"(?!queued|running)/;
	}
	return 0;
}

# The legacy era.
my $m = BrowserTask::Mcp->new(instance => $i);
ok $m->init->{capabilities}{resources}{subscribe}, 'subscribe is declared';
my $run = start_run('/slow');
is_deeply $m->ask('resources/subscribe', { uri => "run://$run" })->{result}, {},
    'subscribed to a run';
my $n = heard($m);
is $n->{method}, 'notifications/resources/updated', '... its change is told';
is_deeply $n->{params}, { uri => "run://$run" }, '... by its uri';
unshift @{ $m->{notes} }, $n;
cmp_ok follow($m, $run), '>=', 1, '... up to its end';

$run = start_run('/never-headers');
$m->ask('resources/subscribe', { uri => "run://$run" }) for 1 .. 2;
ok cancel_run($run), 'canceled';
follow($m, $run);
is_deeply $m->ask('resources/subscribe', { uri => "run://$run" })->{result}, {},
    'what has ended may be subscribed to';
is_deeply $m->ask('resources/unsubscribe', { uri => "run://$run" })->{result},
    {}, '... and unsubscribed from';
@{ $m->{notes} } = ();

$run = start_run('/never-headers');
$m->ask('resources/subscribe', { uri => "run://$run" });
$m->ask('resources/unsubscribe', { uri => "run://$run" });
@{ $m->{notes} } = ();
ok cancel_run($run), 'canceled';
$m->ask('resources/read', { uri => "run://$run" });
is_deeply $m->{notes}, [], 'who has unsubscribed is not told';
my $first = $m->request('resources/subscribe', { uri => "run://$run" });
$n = $m->request('resources/unsubscribe', { uri => "run://$run" });
ok $m->answer($_)->{result}, 'an end before the beginning' for $first, $n;
is $m->ask('resources/subscribe', $_->[0])->{error}{code}, $_->[1],
    "refused: $_->[1]" for [ { uri => 'run://run_' . '0' x 26 }, -32002 ],
    [ { uri => 'run://' }, -32602 ], [ { uri => 'artifact://x' }, -32602 ],
    [ { uri => 5 }, -32602 ], [ {}, -32602 ];
is $m->ask('subscriptions/listen', { notifications => {} })->{error}{code},
    -32601, 'no listen in the legacy era';

# The modern era.
my $p = BrowserTask::Mcp->new(instance => $i);
$p->modern;
my @runs = map { start_run('/never-headers') } 1 .. 2;
my @uris = map { "run://$_" } @runs;
my $id = $p->request('subscriptions/listen', { notifications => {
	toolsListChanged => \1, taskIds => undef,
	resourceSubscriptions => [ @uris, $uris[0], 'artifact://x',
		'run://run_' . '0' x 26, 7 ] } });
is $p->answer($id)->{error}{code}, -32021, 'task ids need the extension';
$id = $p->request('subscriptions/listen', { notifications => {
	toolsListChanged => \1,
	resourceSubscriptions => [ @uris, $uris[0], 'artifact://x',
		'run://run_' . '0' x 26, 7 ] } });
$n = heard($p);
is $n->{method}, 'notifications/subscriptions/acknowledged',
    'listening is acknowledged first';
is_deeply $n->{params}, { _meta => { $sid => $id },
	notifications => { resourceSubscriptions => \@uris } },
    '... with the runs that there are';

# A restart of the service in between; the runs may or may not be started again.
my ($sup) = grep { $_->{cmd} =~ /^supervisord/ } tree($i->{pid});
kill 'KILL', $sup->{pid};
cancel_run($_) for @runs;
my %told;
while (keys %told < 2 && ($n = heard($p))) {
	is $n->{method}, 'notifications/resources/updated', 'a change is told';
	is_deeply $n->{params}{_meta}, { $sid => $id }, '... by its subscription';
	my $uri = $n->{params}{uri};
	my $r = $p->ask('resources/read', { uri => $uri });
	$told{$uri} = 1 if $r->{result}{contents}[0]{text}
	    =~ /"status":"(canceled|failed)"/;
}
is_deeply [ sort keys %told ], [ sort @uris ],
    'a restart of the service loses no change';

# Ends.
my $second = $p->request('subscriptions/listen', { notifications => {} });
do { $n = heard($p) } while $n->{method} =~ /updated/;
is_deeply $n->{params}, { _meta => { $sid => $second }, notifications => {} },
    'listening to nothing';
$run = start_run('/never-headers');
my $third = $p->request('subscriptions/listen', { notifications => {
	resourceSubscriptions => ["run://$run"] } });
heard($p);
$p->send({ jsonrpc => '2.0', method => 'notifications/cancelled',
	params => { requestId => $third } });
$p->ask('resources/list');
@{ $p->{notes} } = ();
cancel_run($run);
$p->ask('resources/read', { uri => "run://$run" });
is_deeply $p->{notes}, [], 'a canceled subscription is not told';
is $p->ask('subscriptions/listen', $_)->{error}{code}, -32602, 'refused'
    for {}, { notifications => 1 },
    { notifications => { resourceSubscriptions => 'x' } };
is $p->ask('resources/subscribe', { uri => "run://$run" })->{error}{code},
    -32601, 'no subscribe in the modern era';
$p->eof;
my %ended;
while (defined(my $l = $p->line(60))) {
	$ended{ $l->{id} } = $l->{result}{_meta}{$sid} if $l->{id};
}
is_deeply \%ended, { $id => $id, $second => $second },
    'those that are open end with the input';
is $p->wait, 0, '... and the adapter';

$_->eof for $m, $actor;
is $_->wait, 0, 'the end' for $m, $actor;
$i->stop;
is left(60, $site->{pid}), '', 'nothing is left';
done_testing;
