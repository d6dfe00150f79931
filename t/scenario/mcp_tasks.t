#!/usr/bin/perl
# Runs as tasks, with raw lines: by the extension of the modern era, and as the
# core of the revision 2025-11-25 has them.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $ext = 'io.modelcontextprotocol/tasks';
my $declared = { extensions => { $ext => {} } };
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(settings => ['maxConcurrentRuns=2'])->start;

sub adapter {
	my $m = BrowserTask::Mcp->new(instance => $i);
	$m->modern;
	$m->{capabilities} = $declared;
	return $m;
}

sub run {
	my ($m, $options, $path, %more) = @_;
	return $m->tool('run_task_template', {
		templateId => 'batch_extract_pages',
		inputs => { urls => [ $site->url($path) ], %more },
		options => $options });
}

sub look {
	my ($m, $id) = @_;
	my $a = $m->ask('tasks/get', { taskId => $id });
	return $a->{result} // $a->{error};
}

sub final {
	my ($m, $id) = @_;
	return wait_until(60, sub { my $t = look($m, $id);
		($t->{status} // 'working') ne 'working' && $t });
}

my $m = adapter();
is_deeply $m->ask('server/discover')->{result}{capabilities}{extensions},
    { $ext => {} }, 'the extension is declared';
ok !BrowserTask::Mcp->new(instance => $i)->init->{capabilities}{extensions},
    '... not in the legacy era';

# A task from its beginning to its end.
my $t = run($m, {}, '/slow');
is $t->{resultType}, 'task', 'a run is answered as a task' or diag explain $t;
like $t->{taskId}, qr/^run_[0-9A-Z]{26}$/, '... with the id of its run';
is $t->{status}, 'working', '... working';
like $t->{statusMessage}, qr/^(queued|running)/, '... told in words';
like $t->{createdAt}, qr/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    '... with a time';
ok exists $t->{ttlMs} && !defined $t->{ttlMs}, '... kept while it works';
cmp_ok $t->{pollIntervalMs}, '>', 0, '... with an interval';
is look($m, $t->{taskId})->{taskId}, $t->{taskId}, '... exists at once';
my $end = final($m, $t->{taskId});
is $end->{status}, 'completed', 'it completes';
is $end->{resultType}, 'complete', '... in a plain answer';
cmp_ok $end->{ttlMs}, '>', 1_799_000, '... kept for a time';
my $r = $end->{result};
is $r->{structuredContent}{status}, 'succeeded', '... with its result';
is_deeply $m->doc($r), $r->{structuredContent}, '... which is text, too';
ok !$r->{isError} && $r->{resultType} eq 'complete', '... and no error';
is_deeply [ map { $_->{uri} } grep { $_->{type} eq 'resource_link' }
    @{ $r->{content} } ], [ map { "artifact://$_" }
    @{ $r->{structuredContent}{artifactIds} } ], '... with its artifacts';
ok $m->ask('tasks/cancel', { taskId => $t->{taskId} })->{result},
    'canceling what has ended is acknowledged';
is look($m, $t->{taskId})->{status}, 'completed', '... and changes nothing';
is $m->tool('get_task_run', { runId => $t->{taskId} })
    ->{structuredContent}{status}, 'succeeded', 'the tools see the same run';
is scalar @{ $m->{notes} }, 0, 'nothing else was said';

# What is no task.
is run($m, { mode => 'async' }, '/news')->{resultType}, 'complete',
    'mode async is answered at once with the run';
is $m->tool('get_runtime_profile')->{resultType}, 'complete',
    'other tools are';
my $bad = run($m, {}, '/news', concurrency => 'x');
ok $bad->{isError} && $bad->{resultType} eq 'complete',
    'what is refused is no task';

# A failed run is a completed task.
$t = run($m, { mode => 'sync', timeoutMs => 2000 }, '/never-headers');
is $t->{resultType}, 'task', 'mode sync is a task';
$end = final($m, $t->{taskId});
is $end->{status}, 'completed', 'a failed run is a completed task';
ok $end->{result}{isError}, '... whose result is an error' or diag explain $end;
is $end->{result}{structuredContent}{status}, 'failed', '... failed';

# Canceled; also by another adapter, after a restart of the service.
$t = run($m, {}, '/never-headers');
my $other = adapter();
is look($other, $t->{taskId})->{status}, 'working',
    'another adapter sees the task';
my ($sup) = grep { $_->{cmd} =~ /^supervisord/ } tree($i->{pid});
kill 'KILL', $sup->{pid};
is look($m, $t->{taskId})->{taskId}, $t->{taskId},
    'a task outlives a restart of the service';
my $u = $m->ask('tasks/update', { taskId => $t->{taskId},
	inputResponses => { nobody => {} } });
is $u->{result}{resultType}, 'complete', 'answers to nothing are ignored';
my $c = $other->ask('tasks/cancel', { taskId => $t->{taskId} });
is $c->{result}{resultType}, 'complete', 'cancel is acknowledged';
$end = final($m, $t->{taskId});
is $end->{status}, 'cancelled', '... and does it';
ok !exists $end->{result}, '... without a result';

# What is refused.
for my $method (qw(tasks/get tasks/cancel tasks/update)) {
	my %more = (inputResponses => {});
	for my $id ('run_' . '0' x 26, 'none', '', 'x' x 5000, 7, {}) {
		is $m->ask($method, { taskId => $id, %more })->{error}{code},
		    -32602, "$method " . substr $id, 0, 40;
	}
	is $m->ask($method)->{error}{code}, -32602, "$method without an id";
	for my $none ({}, { extensions => {} }, { extensions => [] },
		{ extensions => { $ext => 1 } }) {
		local $m->{capabilities} = $none;
		my $e = $m->ask($method, { taskId => $t->{taskId}, %more })
		    ->{error};
		is $e->{code}, -32021, "$method undeclared";
		is_deeply $e->{data}, { requiredCapabilities => $declared },
		    '... says what is missing';
	}
}
is $m->ask('tasks/update', { taskId => $t->{taskId} })->{error}{code}, -32602,
    'tasks/update without responses';
is $m->ask('tasks/list')->{error}{code}, -32601, 'there is no tasks/list';
$m->{capabilities} = {};
is run($m, {}, '/news')->{resultType}, 'complete',
    'who has not declared it gets no task';

# Who listens is told of changes, and of what has ended already.
$m->{capabilities} = $declared;
@{ $m->{notes} } = ();
my $ended = $t->{taskId};
# It waits until somebody listens.
my @before = map { run($m, {}, '/never-headers')->{taskId} } 1 .. 2;
$t = run($m, {}, '/slow');
@{ $m->{notes} } = ();
my $listen = $m->request('subscriptions/listen', { notifications => {
	taskIds => [ $t->{taskId}, $ended, 'none', 7 ],
	resourceSubscriptions => [ "run://$t->{taskId}" ] } });
push @{ $m->{notes} }, $m->line(60);
$m->ask('tasks/cancel', { taskId => $_ }) for @before;
my %told;
my $tell = sub {
	my ($n) = @_;
	push @{ $told{ $n->{params}{taskId} } }, $n
	    if ($n->{method} // '') eq 'notifications/tasks';
	my ($now) = reverse @{ $told{ $t->{taskId} } // [] };
	return $now && $now->{params}{status} eq 'completed' && $told{$ended};
};
my ($all) = grep { $_ } map { $tell->($_) } @{ $m->{notes} };
while (!$all && (my $n = $m->line(60))) {
	push @{ $m->{notes} }, $n;
	$all = $tell->($n);
}
my $first = $m->{notes}[0];
is $first->{method}, 'notifications/subscriptions/acknowledged',
    'listening to tasks';
is_deeply [ sort @{ $first->{params}{notifications}{taskIds} } ],
    [ sort $t->{taskId}, $ended ], '... to those that there are';
is_deeply $first->{params}{notifications}{resourceSubscriptions},
    [ "run://$t->{taskId}" ], '... beside resources';
my $last = $told{ $t->{taskId} }[-1]{params};
is $last->{status}, 'completed', 'its end is told';
is $last->{result}{structuredContent}{status}, 'succeeded',
    '... with its result';
cmp_ok $last->{ttlMs}, '>', 1_799_000, '... and how long it is kept';
is $last->{_meta}{'io.modelcontextprotocol/subscriptionId'}, $listen,
    '... for this subscription';
is $told{$ended}[-1]{params}{status}, 'cancelled',
    'what had ended is told at once';
ok scalar(grep { ($_->{method} // '') eq 'notifications/resources/updated' }
    @{ $m->{notes} }), 'the resource was told of, too';
my $two = run($m, {}, '/never-headers')->{taskId};
$m->request('subscriptions/listen', { notifications => { taskIds => [$two] } });
$m->line(60);
$m->ask('tasks/cancel', { taskId => $two });
ok wait_until(60, sub {
	my $n = shift @{ $m->{notes} } // $m->line(60) // {};
	return ($n->{params}{taskId} // '') eq $two
	    && $n->{params}{status} eq 'cancelled';
}), 'a canceled one is told';
is $m->ask('subscriptions/listen', { notifications => { taskIds => 'x' } })
    ->{error}{code}, -32602, 'taskIds must be an array';
{
	local $m->{capabilities} = {};
	is $m->ask('subscriptions/listen', { notifications =>
		{ taskIds => [$ended] } })->{error}{code}, -32021,
	    'nobody listens to tasks undeclared';
}

# The experimental tasks of the revision 2025-11-25.
my $old = BrowserTask::Mcp->new(instance => $i);
is_deeply $old->init('2025-11-25')->{capabilities}{tasks},
    { list => {}, cancel => {}, requests => { tools => { call => {} } } },
    'tasks are declared in 2025-11-25';
is_deeply { map { $_->{name} => $_->{execution} } grep { $_->{execution} }
    @{ $old->ask('tools/list')->{result}{tools} } },
    { run_task_template => { taskSupport => 'optional' } },
    '... of one tool';

sub old_run {
	my ($path, $task, %options) = @_;
	my $a = $old->answer($old->call('run_task_template', {
		templateId => 'batch_extract_pages',
		inputs => { urls => [ $site->url($path) ] },
		options => \%options }, defined $task ? (task => $task) : ()), 60);
	return $a->{result} // $a->{error};
}

sub old_ask {
	my ($method, $id) = @_;
	my $a = $old->ask($method, { taskId => $id }, 60);
	return $a->{result} // $a->{error};
}

$r = old_run('/slow', { ttl => 60000 });
my $task = $r->{task};
like $task->{taskId}, qr/^run_[0-9A-Z]{26}$/, 'a call is answered with a task'
    or diag explain $r;
is $task->{status}, 'working', '... that works';
ok exists $task->{ttl} && !defined $task->{ttl}, '... and is kept while it does';
is old_ask('tasks/get', $task->{taskId})->{taskId}, $task->{taskId},
    '... and exists at once';
$r = old_ask('tasks/result', $task->{taskId});
is $r->{structuredContent}{status}, 'succeeded', 'its result is waited for'
    or diag explain $r;
is $r->{structuredContent}{runId}, $task->{taskId}, '... that of the call';
is $r->{_meta}{'io.modelcontextprotocol/related-task'}{taskId},
    $task->{taskId}, '... and says whose it is';
ok !exists $r->{resultType}, '... as that revision writes it';
$r = old_ask('tasks/get', $task->{taskId});
is $r->{status}, 'completed', 'then it is completed';
cmp_ok $r->{ttl}, '>', 1_799_000, '... and kept for a time';
is old_ask('tasks/cancel', $task->{taskId})->{code}, -32602,
    'what has ended is not canceled';
is old_run('/news', {}, mode => 'async')->{task}{status}, 'working',
    'mode async can be a task as well';
is old_run('/news', undef, mode => 'sync')->{structuredContent}{status},
    'succeeded', 'without task a call is what it was';

# One that fails: the task of that revision fails, too.
$task = old_run('/never-headers', {}, timeoutMs => 2000)->{task};
$r = old_ask('tasks/result', $task->{taskId});
ok $r->{isError}, 'the result of a failed run is an error';
is old_ask('tasks/get', $task->{taskId})->{status}, 'failed',
    '... and its task failed';

# Canceled while its result is waited for.
$task = old_run('/never-headers', {})->{task};
my $waits = $old->request('tasks/result', { taskId => $task->{taskId} });
$r = old_ask('tasks/cancel', $task->{taskId});
is $r->{status}, 'cancelled', 'a task is canceled before that is answered';
is $old->answer($waits, 60)->{result}{structuredContent}{status}, 'canceled',
    '... and whoever waited is answered';
is old_ask('tasks/cancel', $task->{taskId})->{code}, -32602, '... once';

# All of them, by pages.
my (%listed, $cursor);
do {
	my $a = $old->ask('tasks/list', $cursor ? { cursor => $cursor } : {})
	    ->{result};
	$listed{ $_->{taskId} } = $_->{status} for @{ $a->{tasks} };
	$cursor = $a->{nextCursor};
} while ($cursor);
is $listed{ $task->{taskId} }, 'cancelled', 'tasks are listed';
is $listed{$ended}, 'cancelled', '... those of other adapters, too';
cmp_ok scalar(grep { $_ eq 'completed' } values %listed), '>=', 3,
    '... in every state';
is $old->ask('tasks/list', { cursor => $_ })->{error}{code}, -32602,
    'no such page' for 'none', '', 7;

# What is refused.
for my $method (qw(tasks/get tasks/cancel tasks/result)) {
	is old_ask($method, $_)->{code}, -32602, "$method: no such task"
	    for 'run_' . '0' x 26, 'none', '', 'x' x 5000, 7, {};
	is $old->ask($method)->{error}{code}, -32602, "$method without an id";
}
is old_run('/news', 7)->{code}, -32602, 'task must be an object';
is $old->answer($old->call('get_runtime_profile', {}, task => {}))
    ->{error}{code}, -32601, 'no other tool can be a task';
is $old->ask('tasks/update', { taskId => $ended, inputResponses => {} })
    ->{error}{code}, -32601, 'there is no tasks/update';
my $legacy = BrowserTask::Mcp->new(instance => $i);
ok !$legacy->init('2025-06-18')->{capabilities}{tasks},
    'earlier revisions have no tasks';
is $legacy->ask('tasks/get', { taskId => $ended })->{error}{code},
    -32601, '... nor their methods';
is $legacy->tool('get_runtime_profile', {}, task => {})
    ->{structuredContent}{engine}, $m->tool('get_runtime_profile')
    ->{structuredContent}{engine}, '... and do not look at task';

# The end of the input ends the waiting for a result, not its run.
$task = old_run('/never-headers', {})->{task};
$old->request('tasks/result', { taskId => $task->{taskId} });
$_->eof for $m, $other, $legacy, $old;
is $_->wait, 0, 'the end' for $m, $other, $legacy, $old;
$i->stop;
is left(60, $site->{pid}), '', 'nothing is left';
done_testing;
