#!/usr/bin/perl
# Runs through the adapter, with raw lines against the real service: modes,
# progress, cancellation, idempotency, and what becomes of a call when the
# adapter, the service or the client goes away in the middle.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time);

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(settings => ['maxConcurrentRuns=2'])->start;
my $m = BrowserTask::Mcp->new(instance => $i);
my $final = qr/^(succeeded|partial_success|failed|canceled)$/;
$m->init;

sub run {
	my ($adapter, $options, $paths, %more) = @_;
	return $adapter->call('run_task_template', {
		templateId => 'batch_extract_pages',
		inputs => { urls => [ map { $site->url($_) } @$paths ] },
		options => $options }, %more);
}

sub result {
	my ($adapter, $id, $seconds) = @_;
	my $a = $adapter->answer($id, $seconds // 90);
	return $a->{result} // $a->{error} // {};
}

# The run by polling, through any adapter.
sub ended_by {
	my ($adapter, $run) = @_;
	my $after = 0;
	for (1 .. 60) {
		my $e = $adapter->tool('subscribe_task_run_events', {
			runId => $run, afterSeq => $after, timeoutMs => 5000 });
		my $d = $e->{structuredContent} // return undef;
		$after = $d->{lastSeq};
		last if $d->{status} =~ $final;
	}
	return $adapter->tool('get_task_run', { runId => $run })
	    ->{structuredContent};
}

sub active {
	return map { @{ $m->tool('list_task_runs', { status => $_ })
	    ->{structuredContent}{runs} } } qw(running queued);
}

# The run of a call, when it is the only one that is active.
sub only_run {
	my ($adapter, @call) = @_;
	wait_until(60, sub { !active() });
	my $id = run($adapter, @call);
	my $run = wait_until(60, sub {
		my ($r) = grep { $_->{status} eq 'running' } active();
		return $r && $r->{runId};
	});
	return ($id, $run);
}

# Sync, with progress.
my @paths = map { "/corpus/$_" } 1 .. 8;
my $r = result($m, run($m, { mode => 'sync' }, [ '/slow', @paths ],
	_meta => { progressToken => "t\"1" }));
my $d = $r->{structuredContent};
is $d->{status}, 'succeeded', 'a sync batch' or diag explain $r;
is $d->{mode}, 'sync', '... names its mode';
ok !$d->{deduplicated} && exists $d->{deduplicated}, '... is new';
is scalar @{ $d->{result}{items} }, 9, '... has its result';
ok !$r->{isError}, '... is no error';
is_deeply $m->doc($r), $d, '... the text is the same JSON';
my @links = grep { $_->{type} eq 'resource_link' } @{ $r->{content} };
is_deeply [ map { $_->{uri} } @links ],
    [ map { "artifact://$_" } @{ $d->{artifactIds} } ], '... links artifacts';
is scalar(grep { !$_->{name} || !$_->{mimeType} || !$_->{size} } @links), 0,
    '... with names, types and sizes';
like $d->{resultSummary}, qr/^succeeded in .*9 of 9/, '... a summary';
is $d->{nextActions}[0]{tool}, 'get_artifact', '... what to do next';
my @progress = map { $_->{params} } grep { $_->{method}
    eq 'notifications/progress' } @{ $m->{notes} };
ok @progress >= 2, scalar(@progress) . ' notifications of progress';
is scalar(grep { $_->{progressToken} ne "t\"1" } @progress), 0, '... its own';
is scalar(grep { $progress[$_]{progress} <= $progress[ $_ - 1 ]{progress} }
    1 .. $#progress), 0, '... rising';
cmp_ok $progress[-1]{progress}, '<', 9, '... none at the very end';
@{ $m->{notes} } = ();

# What did not succeed is not told as done.
$d = result($m, run($m, {}, [ '/news', '/corpus/1', '/download' ]))
    ->{structuredContent};
like $d->{resultSummary}, qr/: 2 of 3 succeeded, 1 failed,/,
    'a batch counts what succeeded';
$d = $m->tool('run_task_template', { templateId => 'login_keep_session',
	inputs => { startUrl => $site->url('/try/login'), credentials => {
		username => 'ada', password => 'not-this-one' } } })
    ->{structuredContent};
like $d->{resultSummary}, qr/without success: .*asks for a password/,
    'a wrong password is no success';
is scalar(grep { $_->{tool} eq 'run_task_template' } @{ $d->{nextActions} }),
    0, '... and no session to go on in';

# Auto, async.
$d = result($m, run($m, {}, [ '/news' ]))->{structuredContent};
is "$d->{mode} $d->{status}", 'sync succeeded', 'auto: few pages are sync';
$d = result($m, run($m, {}, [ map { "/corpus/$_" } 1 .. 11 ]))
    ->{structuredContent};
is $d->{mode}, 'async', 'auto: many are async';
like $d->{status}, qr/^(queued|running)$/, '... answered at once';
is $d->{nextActions}[0]{tool}, 'get_task_run', '... to wait';
my $run = $d->{runId};
is ended_by($m, $run)->{status}, 'succeeded', '... and read later';
is scalar @{ $m->{notes} }, 0, 'nobody asked for progress: none came';

# The same key.
my $twice = { mode => 'async', idempotencyKey => 'k1' };
my $first = result($m, run($m, $twice, ['/news']))->{structuredContent};
my $again = result($m, run($m, $twice, ['/news']))->{structuredContent};
is $again->{runId}, $first->{runId}, 'the same key, the same run';
ok $again->{deduplicated} && !$first->{deduplicated}, '... says so';
ok !$again->{paramsMismatch}, '... with the same inputs';
$again = result($m, run($m, { %$twice, mode => 'sync' }, ['/shop']))
    ->{structuredContent};
ok $again->{paramsMismatch}, '... with others it says that';
like $again->{status}, $final, '... and a sync one waits for it';

# Reading.
my $l = $m->tool('list_task_runs', { limit => 2 })->{structuredContent};
is scalar @{ $l->{runs} }, 2, 'a list';
ok $l->{hasMore} && $l->{nextCursor}, '... has more';
my $l2 = $m->tool('list_task_runs', { limit => 2,
	cursor => $l->{nextCursor} })->{structuredContent};
is scalar(grep { my $id = $_->{runId};
    grep { $_->{runId} eq $id } @{ $l2->{runs} } } @{ $l->{runs} }), 0,
    '... without repetition';
my ($art) = @{ ended_by($m, $run)->{artifactIds} };
my $chunk = $m->tool('get_artifact', { artifactId => $art, limit => 100 });
is_deeply [ sort keys %{ $chunk->{structuredContent} } ],
    [ qw(artifactId complete data length mimeType offset totalSize) ],
    'a chunk has exactly its seven members';
my $p = $m->tool('get_runtime_profile', { random_string => 'x' });
is_deeply $p->{structuredContent}{ignoredArguments}, ['random_string'],
    'an argument of the client is ignored and named';
my $out = $m->tool('get_task_run', { runId => $run, include => ['output'] });
is $out->{structuredContent}{output}{version}, 'task_result_v0', 'the output';
my $trace = '0af7651916cd43dd8448eb211c80319c';
$d = result($m, run($m, { mode => 'async' }, ['/news'],
	_meta => { traceparent => "00-$trace-b7ad6b7169203331-01" }))
    ->{structuredContent};
is $d->{traceId}, $trace, 'traceparent is taken over';
for ([ 'get_task_run', { runId => 'run_' . '0' x 26 }, 'RUN_NOT_FOUND' ],
	[ 'cancel_task_run', { runId => 'x' }, 'RUN_NOT_FOUND' ],
	[ 'get_artifact', { artifactId => 'art_' . '0' x 26 },
		'ARTIFACT_NOT_FOUND' ],
	[ 'run_task_template', { templateId => 'nothing' },
		'TEMPLATE_NOT_FOUND' ],
	[ 'run_task_template', { templateId => 'batch_extract_pages',
			templateVersion => '9.9.9' },
		'TEMPLATE_VERSION_UNSUPPORTED' ],
	[ 'run_task_template', { templateId => 'batch_extract_pages',
			inputs => { urls => [] } }, 'INVALID_PARAMETER' ],
	[ 'run_task_template', { templateId => 'batch_extract_pages',
			inputs => { urls => ['x'] },
			options => { mode => 'never' } },
		'INVALID_PARAMETER' ],
	[ 'run_task_template', { templateId => 'batch_extract_pages',
			inputs => { urls => ['x'] },
			sessionId => 'sess_' . '0' x 26 },
		'SESSION_NOT_FOUND' ]) {
	my $e = $m->tool($_->[0], $_->[1]);
	my $doc = $m->doc($e);
	ok $e->{isError} && $doc->{errorCode} eq $_->[2]
	    && $doc->{recoverHint} && $doc->{nextActions}, $_->[2]
	    or diag explain $e;
}

# A canceled call: no answer, and the run goes on.
(my $id, $run) = only_run($m, { mode => 'sync' }, ['/never-headers'],
	_meta => { progressToken => 5 });
$m->send({ jsonrpc => '2.0', method => 'notifications/cancelled',
	params => { requestId => $id, reason => 'no time' } });
like $m->tool('get_task_run', { runId => $run })->{structuredContent}{status},
    qr/^running$/, 'canceling a call does not cancel its run';
$d = $m->tool('cancel_task_run', { runId => $run })->{structuredContent};
ok $d->{success} && $d->{status} eq 'canceled', '... cancel_task_run does';
$d = $m->tool('cancel_task_run', { runId => $run })->{structuredContent};
ok !$d->{success} && $d->{reason}, '... once';
ok !exists $m->{answers}{$id}, '... and the call was never answered';

# With the flag it does.
my $flagged = BrowserTask::Mcp->new(instance => $i,
	args => ['--cancel-ends-run']);
$flagged->init;
($id, $run) = only_run($flagged, { mode => 'sync' }, ['/never-headers']);
$flagged->send({ jsonrpc => '2.0', method => 'notifications/cancelled',
	params => { requestId => $id } });
is ended_by($m, $run)->{status}, 'canceled', '--cancel-ends-run';
$flagged->eof;
is $flagged->wait, 0, '... ends';

# The client goes away, with a call in flight.
my $gone = BrowserTask::Mcp->new(instance => $i);
$gone->init;
(undef, $run) = only_run($gone, { mode => 'sync', idempotencyKey => 'eof' },
	[ '/slow', @paths ]);
my $was = time;
$gone->eof;
is $gone->wait, 0, 'it ends with its input';
cmp_ok time - $was, '<', 8, '... soon';
is ended_by($m, $run)->{status}, 'succeeded', '... and its run goes on';

# kill -9 of the adapter.
$gone = BrowserTask::Mcp->new(instance => $i);
$gone->init;
(undef, $run) = only_run($gone, { mode => 'sync' }, [ '/slow', @paths ]);
$gone->kill;
$gone->wait;
is ended_by($m, $run)->{status}, 'succeeded', 'kill -9 of the adapter: too';

# kill -9 of supervisord while a call waits: the answer comes all the same.
my $total = $m->tool('list_task_runs')->{structuredContent}{total};
($id) = only_run($m, { mode => 'sync' }, [ '/slow', @paths ]);
my ($sup) = grep { $_->{cmd} =~ /^supervisord/ } tree($i->{pid});
kill 'KILL', $sup->{pid};
my @asked = map { $m->call('get_runtime_profile') } 1 .. 20;
my $sub = run($m, { mode => 'async' }, ['/news']);
is scalar(grep { result($m, $_)->{structuredContent}{epoch} } @asked), 20,
    'kill -9 of supervisord: questions are asked again';
ok result($m, $sub)->{structuredContent}{runId}, '... submissions, too';
$r = result($m, $id);
is $r->{structuredContent}{status}, 'succeeded', '... and a sync call waits on'
    or diag explain $r;
is $m->tool('list_task_runs')->{structuredContent}{total}, $total + 2,
    '... and every call made one run';

# Many at once, answered as they are ready.
my @many = map { $m->call('get_runtime_profile') } 1 .. 200;
push @many, run($m, { mode => 'sync' }, ['/slow']);
push @many, map { $m->call('list_task_templates') } 1 .. 20;
is scalar(grep { result($m, $_)->{structuredContent} } @many), 221,
    '221 calls in flight';

# Answers that are not read wait at the service or in bounds. Sanitizers keep
# what was freed.
sub rss {
	open my $status, '<', "/proc/$m->{pid}/status" or return 0;
	return join('', <$status>) =~ /VmRSS:\s+(\d+)/ ? $1 : 0;
}
my $sanitized = rss() > 20000;
@many = map { $m->call('list_task_templates') } 1 .. 450;
ok !wait_until(3, sub { !$sanitized && rss() > 40000 }),
    'unread answers do not pile up';
my %late;
while (keys %late < 450 && defined(my $line = $m->raw)) {
	$late{$1} = 1 if $line =~ /"id":(\d+),.*"structuredContent":\{/;
}
is join(',', sort keys %late), join(',', sort @many),
    '450 answers that are read late';

# The modern era and a lower trust.
my $modern = BrowserTask::Mcp->new(instance => $i,
	args => [ '--trust', 'remote' ]);
$modern->modern;
$r = $modern->tool('get_runtime_profile');
is $r->{resultType}, 'complete', 'a modern answer';
ok $r->{_meta}{'io.modelcontextprotocol/serverInfo'}{version}, '... names us';
is $r->{structuredContent}{trustLevel}, 'remote', '--trust remote';
ok $r->{structuredContent}{isRemote}, '... is remote';
$modern->eof;
$modern->wait;

$m->eof;
is $m->wait, 0, 'the end';
$i->stop;
is left(60, $site->{pid}), '', 'nothing is left';
done_testing;
