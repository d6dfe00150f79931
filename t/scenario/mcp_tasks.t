#!/usr/bin/perl
# Runs as tasks, by the extension of the modern era, with raw lines.
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
my $legacy = BrowserTask::Mcp->new(instance => $i);
$legacy->init;
is $legacy->ask('tasks/get', { taskId => $t->{taskId} })->{error}{code},
    -32601, 'there are no tasks in the legacy era';

$_->eof for $m, $other, $legacy;
is $_->wait, 0, 'the end' for $m, $other, $legacy;
$i->stop;
is left(10, $site->{pid}), '', 'nothing is left';
done_testing;
