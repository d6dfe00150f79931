#!/usr/bin/perl
# supervisord's promises, with the real launcher, cell and browser. The worker
# is t/scenario/scripted, which does what a run's inputs say.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use JSON::PP ();
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $slow = $ENV{BROWSERTASK_SLOW} // 5;    # bounds of a shared machine × 5

# Blocks of uids that other tests on this machine do not use: an instance kills
# what it finds in its own.
sub own_uids {
	return () if $> != 0;
	return ('uidBase=' . (1900000000 + 65536 * ($$ % 1000)),
		'uidBlocks=64');
}

sub instance {
	my (@settings) = @_;
	return BrowserTask::Harness->new(
		programs => { workerd => "$build/t/scenario/scripted" },
		settings => [ own_uids(), @settings ])->start;
}

sub client { return BrowserTask::Client->new($_[0]->client_sock) }

sub script {
	my ($c, $words, %options) = @_;
	my $template = delete $options{template} // 'scripted';
	return $c->run($template, { do => [ split ' ', $words ] }, \%options);
}

sub get {
	my ($c, $run, @include) = @_;
	return $c->call('run.get', { runId => $run, @include });
}

sub until_status {
	my ($c, $run, $status) = @_;
	return wait_until(120, sub {
		my $r = get($c, $run);
		return $r->{status} eq $status && $r;
	});
}

# Its items are journaled and it holds.
sub until_done {
	my ($c, $run, $n) = @_;
	return wait_until(120, sub {
		my $r = get($c, $run);
		return $r->{progress}{doneSteps} >= $n && $r;
	});
}

sub error_is {
	my ($e, $code, $cause, $name) = @_;
	my $ok = is_deeply(
		[ $e->{errorCode}, $e->{details}{cause} ], [ $code, $cause ],
		$name);
	diag(JSON::PP->new->canonical->encode($e)) unless $ok;
}

my $i = instance('maxConcurrentRuns=2', 'maxQueuedRuns=2', 'pingMs=100',
	'silentMs=700');
my $c = client($i);

subtest 'a run from end to end' => sub {
	my $r = script($c, 'step:s item item done:s warn art',
		mode => 'sync', traceId => 'a' x 32);
	is($r->{status}, 'succeeded', 'succeeds');
	is($r->{mode}, 'sync', 'names its mode');
	is_deeply($r->{result}{summary},
		{ total => 2, succeeded => 2, failed => 0 }, 'summary');
	is_deeply([ map { $_->{i} } @{ $r->{result}{items} } ], [ 0, 1 ],
		'items in order');
	ok(!$r->{deduplicated}, 'is new');
	is($r->{error}, undef, 'no error');
	is_deeply($r->{warnings}, ['take care'], 'warning');
	is($r->{traceId}, 'a' x 32, 'keeps the trace id');
	my $out = get($c, $r->{runId}, include => 'output')->{output};
	is_deeply([ sort keys %$out ], [ sort qw(version ok trace_id
		facts_snapshot_id facts_snapshot_source task_type result
		artifacts steps trace_lines error) ], 'eleven keys');
	is($out->{trace_id}, 'a' x 32, 'trace id there, too');
	is_deeply([ map { $_->{name} } @{ $out->{steps} } ], ['s'], 'steps');
	is_deeply([ sort keys %{ $out->{artifacts} } ],
		[ 'extraction', 'markdown' ], 'artifacts by kind');
	my $id = $out->{artifacts}{extraction}[0]{artifact_id};
	my $a = $c->call('artifact.get', { artifactId => $id });
	is($a->{data}, '[{"i":0,"attempt":1},{"i":1,"attempt":1}]',
		'the artifact of the parts');
	$id = $out->{artifacts}{markdown}[0]{artifact_id};
	$a = $c->call('artifact.get',
		{ artifactId => $id, offset => 1, limit => 1 });
	is_deeply([ @$a{qw(data length totalSize)} ], [ "\x{e9}", 2, 4 ],
		'a chunk holds a whole character');
	is($c->call('artifact.get', { artifactId => $id, offset => 2 })
		->{errorCode}, 'INVALID_PARAMETER', 'not within one');
	my $e = $c->call('run.events', { runId => $r->{runId} });
	my @types = map { $_->{type} } @{ $e->{events} };
	is($types[0], 'run_created', 'first event');
	is($types[-1], 'run_completed', 'last event');
	is_deeply([ map { $_->{seq} } @{ $e->{events} } ], [ 1 .. @types ],
		'numbered without a gap');
};

subtest 'modes and results' => sub {
	my $r = script($c, 'item item item item');
	is($r->{mode}, 'async', 'auto: large is async');
	like($r->{status}, qr/^(queued|running)$/, 'answers at once');
	until_status($c, $r->{runId}, 'succeeded');
	is(script($c, 'item')->{mode}, 'sync', 'auto: small is sync');
	$r = script($c, 'item bad', mode => 'sync');
	is($r->{status}, 'partial_success', 'half is enough');
	$r = script($c, 'step:s item bad bad done:s', mode => 'sync');
	is($r->{status}, 'failed', 'a third is not');
	error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'BELOW_THRESHOLD',
		'says why');
	is($r->{error}{details}{failedStep}, 's', 'names the step');
	is($r->{result}, undef, 'no result');
	my $out = get($c, $r->{runId}, include => 'output')->{output};
	is(scalar @{ $out->{result}{items} }, 3, 'items are kept');
	is($out->{error}{step}, 's', 'error.step');
	$r = script($c, 'big big', mode => 'sync');
	is($r->{status}, 'succeeded', 'large parts');
	$r = script($c, 'result', mode => 'sync', template => 'fragile');
	is_deeply($r->{result}, { answer => 42 }, "the worker's own result");
	$r = script($c, 'step:login stepfail:login fail:ELEMENT_NOT_FOUND',
		mode => 'sync', template => 'fragile');
	is($r->{error}{errorCode}, 'ELEMENT_NOT_FOUND', 'its own failure');
	is($r->{error}{details}{failedStep}, 'login', 'and step');
};

subtest 'refusals' => sub {
	my $submit = sub { $c->call('run.submit', { @_ }) };
	my $do = { do => ['item'] };
	is($submit->(templateId => 'none', inputs => $do)->{errorCode},
		'TEMPLATE_NOT_FOUND', 'template');
	is($submit->(templateId => 'scripted', templateVersion => '9.9.9',
		inputs => $do)->{errorCode}, 'TEMPLATE_VERSION_UNSUPPORTED',
		'version');
	is($submit->(templateId => 'remote', inputs => $do)->{errorCode},
		'TRUST_LEVEL_NOT_ALLOWED', 'trust');
	is($submit->(templateId => 'scripted', inputs => $do,
		sessionId => 'sess_01ARZ3NDEKTSV4RRFFQ69G5FAV')->{errorCode},
		'SESSION_NOT_FOUND', 'session');
	like($submit->(templateId => 'scripted', inputs => { do => [1] })
		->{message}, qr{/inputs/do/0}, 'inputs: where');
	like($submit->(templateId => 'scripted', inputs => $do,
		options => { speed => 1 })->{message}, qr{/options/speed},
		'options are strict');
	is(script($c, 'item', timeoutMs => $_)->{errorCode},
		'INVALID_PARAMETER', "timeoutMs $_") for 0, 600001;
	is(get($c, 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV')->{errorCode},
		'RUN_NOT_FOUND', 'run');
	is($c->call('artifact.get',
		{ artifactId => 'art_01ARZ3NDEKTSV4RRFFQ69G5FAV' })
		->{errorCode}, 'ARTIFACT_NOT_FOUND', 'artifact');
	is($c->call('run.dance', {})->{details}{cause}, 'UNKNOWN_METHOD',
		'method');
	is($c->call('run.list', { status => 'asleep' })->{errorCode},
		'INVALID_PARAMETER', 'status');
};

subtest 'one run per key' => sub {
	my %o = (mode => 'async', idempotencyKey => 'k1');
	my @seq = map { $c->send('run.submit', { templateId => 'scripted',
		inputs => { do => ['item'] }, options => \%o }) } 1 .. 8;
	my @r = map { $c->answer($_) } @seq;
	my %ids = map { $_->{runId} => 1 } @r;
	is(scalar keys %ids, 1, 'eight requests, one run');
	is(scalar(grep { !$_->{deduplicated} } @r), 1, 'one of them is new');
	my $r = script($c, 'item item', %o);
	ok($r->{deduplicated} && $r->{paramsMismatch},
		'other parameters are said');
	is($r->{runId}, $r[0]{runId}, 'and get the same run');
	$r = script($c, 'item', %o, mode => 'sync');
	is($r->{status}, 'succeeded', 'a sync repeat waits for it');
	isnt(script($c, 'item', idempotencyKey => 'k2', mode => 'sync')
		->{runId}, $r[0]{runId}, 'another key, another run');
};

subtest 'the queue' => sub {
	my @h = map { script($c, 'hold', mode => 'async') } 1 .. 2;
	my $low = script($c, 'item', mode => 'async', priority => 'low');
	my $high = script($c, 'item', mode => 'async', priority => 'high');
	is($low->{status}, 'queued', 'beyond the pool: queued');
	is(get($c, $low->{runId})->{queuePosition}, 2, 'low waits behind');
	is(get($c, $high->{runId})->{queuePosition}, 1, 'high');
	error_is(script($c, 'item', mode => 'async'), 'EXECUTION_ERROR',
		'QUEUE_FULL', 'a full queue refuses');
	is(script($c, 'item', idempotencyKey => 'k1')->{deduplicated},
		$BrowserTask::Client::true, 'but knows its keys');
	my $x = $c->call('run.cancel', { runId => $low->{runId} });
	ok($x->{success}, 'a queued run is canceled');
	my $r = get($c, $low->{runId}, include => 'output');
	is($r->{output}{steps}[0]{name}, 'queue', 'its step is the queue');
	$c->call('run.cancel', { runId => $_->{runId} }) for @h;
	ok(until_status($c, $high->{runId}, 'succeeded'), 'then it starts');
	cmp_ok(get($c, $high->{runId})->{metrics}{queueMs}, '>', 0, 'queueMs');
};

subtest 'cancel and time' => sub {
	for my $how (qw(hold deaf mute)) {
		my $r = script($c, "step:s item $how", mode => 'async');
		until_done($c, $r->{runId}, 1);
		my $start = time;
		my $x = $c->call('run.cancel', { runId => $r->{runId} });
		my $took = time - $start;
		ok($x->{success}, "$how: canceled");
		cmp_ok($took, '<', 1 * $slow, sprintf '%s: in %.0f ms', $how,
			$took * 1000);
		$r = get($c, $r->{runId}, include => 'output');
		is($r->{error}{errorCode}, 'RUN_CANCELED', "$how: code");
		is($r->{output}{steps}[0]{error_code}, 'RUN_CANCELED',
			"$how: the step in flight");
		is(scalar @{ $r->{output}{result}{items} }, 1,
			"$how: what was done is kept");
		$x = $c->call('run.cancel', { runId => $r->{runId} });
		ok(!$x->{success} && $x->{reason}, "$how: only once");
	}
	# At every moment of a start: after as many looks at it as $looks.
	for my $looks (0 .. 5) {
		my $r = script($c, 'hold', mode => 'async');
		get($c, $r->{runId}) for 1 .. $looks * 40;
		my $start = time;
		my $x = $c->call('run.cancel', { runId => $r->{runId} });
		ok($x->{success}, "while starting, $looks: canceled");
		cmp_ok(time - $start, '<', 1 * $slow, "$looks: in time");
	}
	my $r = script($c, 'item deaf', mode => 'sync', timeoutMs => 400);
	error_is($r->{error}, 'RUN_TIMEOUT', 'RUN_TIMEOUT', 'timeout');
	is($c->call('run.cancel',
		{ runId => 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV' })->{errorCode},
		'RUN_NOT_FOUND', 'unknown');
};

subtest 'workers that fail' => sub {
	my %cause = (exit => 'WORKER_LOST', mute => 'WORKER_SILENT',
		garbage => 'WORKER_PROTOCOL', early => 'WORKER_PROTOCOL',
		breach => 'CONFINEMENT_BROKEN');
	for my $how (sort keys %cause) {
		my $r = script($c, "item $how", mode => 'sync');
		error_is($r->{error}, 'EXECUTION_ERROR', $cause{$how}, $how);
	}
	my $r = script($c, 'item crash', mode => 'sync');
	error_is($r->{error}, 'PAGE_CRASHED', 'PAGE_CRASHED',
		'the browser crashes');
	is(script($c, 'item', mode => 'sync')->{status}, 'succeeded',
		'the next run starts');
};

subtest 'events' => sub {
	my $r = script($c, 'item hold', mode => 'async');
	my $run = $r->{runId};
	until_done($c, $run, 1);
	my $f = client($i);
	my $snapshot = $f->call('run.follow', { runId => $run });
	is($snapshot->{status}, 'running', 'follow answers the run');
	my $last = $c->call('run.events', { runId => $run })->{lastSeq};
	my $poll = $c->send('run.events',
		{ runId => $run, afterSeq => $last, timeoutMs => 20000 });
	my $other = client($i);
	$other->call('run.cancel', { runId => $run });
	my $e = $c->answer($poll);
	cmp_ok($e->{events}[0]{seq}, '>', $last, 'a poll waits for the next');
	my @seen;
	while (my $note = $f->event(10)) {
		push @seen, $note->[1]{event};
		last if $seen[-1]{type} eq 'run_canceled';
	}
	is($seen[-1]{type}, 'run_canceled', 'followed to the end');
	my $log = $c->call('run.events', { runId => $run })->{events};
	is_deeply([ grep { $_->{seq} } @seen ], $log,
		'what was pushed is what is stored');
	$e = $c->call('run.events', { runId => $run, afterSeq => 10000,
		timeoutMs => 20000 });
	is_deeply($e->{events}, [], 'a terminal run has no more to wait for');
};

subtest 'lists' => sub {
	my $all = $c->call('run.list', {});
	my @created = map { $_->{createdAt} } @{ $all->{runs} };
	is_deeply(\@created, [ sort { $b <=> $a } @created ], 'newest first');
	my $two = $c->call('run.list', { limit => 2, offset => 1 });
	is(scalar @{ $two->{runs} }, 2, 'limit');
	is($two->{total}, $all->{total}, 'total counts all');
	is($two->{runs}[0]{runId}, $all->{runs}[1]{runId}, 'offset');
	my $failed = $c->call('run.list', { status => 'failed',
		templateId => 'fragile' });
	is($failed->{total}, 1, 'filters');
	my $p = $c->call('profile.get');
	is($p->{maxConcurrentRuns}, 2, 'profile');
	is($p->{activeRuns}, 0, 'nothing active');
};

subtest 'clients that misbehave' => sub {
	my $bad = BrowserTask::Client->new($i->client_sock, raw => 1);
	$bad->bytes("\xff" x 64);
	ok($bad->closed, 'garbage costs the connection');
	$bad = BrowserTask::Client->new($i->client_sock, raw => 1);
	like($bad->call('hello', { proto => 99, client => 'x' })->{message},
		qr/version/, 'another protocol is refused in words');
	ok($bad->closed, 'and closed');
	my @idle = map { client($i) } 1 .. 100;
	is($c->call('profile.get')->{clients} > 100, 1, '100 idle clients');
	my $gone = client($i);
	$gone->send('run.submit', { templateId => 'scripted',
		inputs => { do => ['item'] },
		options => { mode => 'sync', idempotencyKey => 'gone' } });
	wait_until(60, sub {
		$c->call('run.list', { status => 'running' })->{total} });
	undef $gone;
	my $r = script($c, 'item', mode => 'sync', idempotencyKey => 'gone');
	ok($r->{deduplicated} && $r->{status} eq 'succeeded',
		'a client that goes away cancels nothing');
};

subtest 'results too long for an answer' => sub {
	my $r = $c->run('scripted', { do => [ ('long') x 400 ] },
		{ mode => 'async' });
	$r = until_status($c, $r->{runId}, 'succeeded');
	my $shown = @{ $r->{result}{items} };
	is($r->{result}{summary}{succeeded}, 400, 'all succeeded');
	cmp_ok($shown, '<', 400, "$shown are shown");
	is($r->{result}{truncated}{totalItems}, 400, 'says so');
	my $art = $r->{result}{truncated}{artifactId};
	my ($text, $complete) = ('');
	until ($complete) {
		my $a = $c->call('artifact.get',
			{ artifactId => $art, offset => length $text });
		die $a->{message} if $a->{errorCode};
		$text .= $a->{data};
		$complete = $a->{complete};
	}
	my $doc = JSON::PP->new->decode($text);
	is(scalar @{ $doc->{result}{items} }, 400,
		'the named artifact has all');
	my $out = get($c, $r->{runId}, include => 'output')->{output};
	is(scalar keys %$out, 11, 'output keeps its shape');
};

subtest 'slow followers' => sub {
	my $s = instance('clientQueueBytes=65536', 'maxConcurrentRuns=4');
	my $sc = client($s);
	my $f = client($s);
	my (%seen, %skipped);
	my @runs = map { $sc->run('scripted', { do => [ ('long') x 1000 ] },
		{ mode => 'async' })->{runId} } 1 .. 4;
	$f->send('run.follow', { runId => $_ }) for @runs;
	is(until_status($sc, $_, 'succeeded')->{attempt}, 1,
		'no run waits for a follower') for @runs;
	my $open = @runs;
	while ($open && (my $note = $f->event(10))) {
		my ($kind, $p) = @$note;
		if ($kind eq 'gap') {
			$skipped{ $p->{runId} }{$_}++
			    for $p->{fromSeq} .. $p->{toSeq};
		} elsif ($p->{seq}) {
			$seen{ $p->{runId} }{ $p->{seq} }++;
			$open-- if $p->{event}{type} eq 'run_completed';
		}
	}
	is($open, 0, 'the follower sees every end');
	ok(%skipped, 'it was told of gaps');
	for my $run (@runs) {
		my %got = (%{ $seen{$run} }, %{ $skipped{$run} // {} });
		my $last = (sort { $b <=> $a } keys %got)[0];
		is_deeply([ sort { $a <=> $b } keys %got ], [ 1 .. $last ],
			'every number was sent or said to be missing');
		my @all = (0);
		while (1) {
			my $e = $sc->call('run.events',
				{ runId => $run, afterSeq => $all[-1] });
			last unless @{ $e->{events} };
			push @all, map { $_->{seq} } @{ $e->{events} };
		}
		is_deeply(\@all, [ 0 .. $last ], 'the log has them all');
	}
	my $deaf = client($s);
	eval { $deaf->send('run.events', { runId => $runs[0] }) }
	    for 1 .. 100;
	ok(wait_until(60, sub { $s->log =~ /does not read its answers/ }),
		'who never reads is dropped');
	is($sc->call('profile.get')->{activeRuns}, 0, 'others are served');
	$s->stop;
};

subtest 'more clients than places' => sub {
	my $s = instance('maxClients=8');
	my @in = map { client($s) } 1 .. 8;
	my $late = BrowserTask::Client->new($s->client_sock, raw => 1);
	my $hello = $late->send('hello', { proto => 1, client => 'late' });
	is($in[0]->call('profile.get')->{clients}, 8, 'eight are served');
	ok(!$late->receive(0.1), 'one waits');
	pop @in;
	is($late->answer($hello)->{proto}, 1, 'and has its turn');
	$s->stop;
};

subtest 'places taken without a word' => sub {
	my $s = instance('maxClients=4', 'helloMs=300');
	my @mute = map {
		BrowserTask::Client->new($s->client_sock, raw => 1) } 1 .. 4;
	my $sc = client($s);
	ok($sc, 'others come in after helloMs');
	ok($_->closed(60), 'who said nothing was put out') for @mute;
	is($sc->call('profile.get')->{clients}, 1, 'who did stays');
	ok(BrowserTask::Client->new($s->client_sock, raw => 1)->closed(60),
	    'a later one is put out');
	is($sc->call('profile.get')->{clients}, 1, 'also afterwards');
	$s->stop;
};

# Only root can be another user: this is no test for others.
subtest 'whose runs' => sub {
	my $s = instance('clientGroup=65534');
	my $sc = client($s);
	my $r = script($sc, 'item', mode => 'sync', idempotencyKey => 'same');
	pipe(my $in, my $out);
	my $pid = fork() // die "fork: $!";
	if ($pid == 0) {
		$) = '65534 65534';
		POSIX::setgid(65534);
		POSIX::setuid(65534);
		my $other = client($s);
		my $o = script($other, 'item', mode => 'sync',
			idempotencyKey => 'same');
		syswrite $out, join ' ',
		    get($other, $r->{runId})->{errorCode} // 'seen',
		    $other->call('artifact.get',
			{ artifactId => $r->{artifactIds}[0] })
			->{errorCode} // 'seen',
		    $other->call('run.list', {})->{total},
		    $o->{deduplicated} ? 'shared' : 'own';
		POSIX::_exit(0);
	}
	close $out;
	my $line = <$in>;
	waitpid $pid, 0;
	is($line, 'RUN_NOT_FOUND ARTIFACT_NOT_FOUND 1 own',
		'another user sees neither run nor artifact nor key');
	is($sc->call('run.list', {})->{total}, 2, 'root sees both');
	$s->stop;
} if $> == 0;

subtest 'kill -9 of the launcher' => sub {
	my $safe = script($c, 'step:s item item hold1 item done:s',
		mode => 'async', idempotencyKey => 'safe');
	my $fragile = script($c, 'step:click art hold', mode => 'async',
		template => 'fragile');
	my @queued = map { script($c, 'item', mode => 'async') } 1 .. 2;
	until_done($c, $safe->{runId}, 2);
	wait_until(60, sub {
		@{ get($c, $fragile->{runId})->{artifactIds} } });
	my $epoch = $c->call('profile.get')->{epoch};
	my $ended = script($c, 'item', mode => 'async',
		idempotencyKey => 'k1');
	$i->stop('KILL');
	ok($c->closed, 'killed');
	$c = client($i->start);
	is($c->call('profile.get')->{epoch}, $epoch + 1, 'the next epoch');
	my $r = get($c, $fragile->{runId}, include => 'output');
	error_is($r->{error}, 'EXECUTION_ERROR', 'SUPERVISOR_RESTART',
		'what may have clicked is not done again');
	ok($r->{error}{retryable}, 'retryable');
	ok($r->{output}{artifacts}{markdown}, 'and kept its artifact');
	$r = until_status($c, $safe->{runId}, 'succeeded');
	is($r->{attempt}, 2, 'restart-safe: second attempt');
	my ($art) = grep { $_->{kind} eq 'extraction' }
	    @{ $c->call('artifact.list', { runId => $r->{runId} })
		->{artifacts} };
	my $doc = $c->call('artifact.get',
		{ artifactId => $art->{artifactId} })->{data};
	is($doc, '[{"i":0,"attempt":1},{"i":1,"attempt":1},'
		. '{"i":2,"attempt":2}]', 'behind its journal');
	ok(until_status($c, $_->{runId}, 'succeeded'), 'queued runs run')
	    for @queued;
	is(script($c, 'item', mode => 'async', idempotencyKey => 'safe')
		->{runId}, $safe->{runId}, 'keys are remembered');
};

subtest 'stop and start again' => sub {
	my $r = script($c, 'item hold1 item', mode => 'async');
	until_done($c, $r->{runId}, 1);
	my $start = time;
	is($i->stop, 0, 'stops');
	cmp_ok(time - $start, '<', 5 * $slow, 'in time');
	is(left(60), '', 'nothing is left');
	$i->start;
	$c = client($i);
	$r = until_status($c, $r->{runId}, 'succeeded');
	is($r->{result}{summary}{succeeded}, 2, 'the run went on');
	$i->stop;
};

subtest 'retention' => sub {
	my $s = instance('runTtlMs=1000', 'artifactTtlMs=1500');
	my $sc = client($s);
	my $r = script($sc, 'item', mode => 'sync', idempotencyKey => 'k');
	my $art = $r->{artifactIds}[0];
	my $same = script($sc, 'item', idempotencyKey => 'k')->{runId};
	# On a slow machine its time may be over.
	is($same, $r->{runId}, 'the key holds')
	    if 1000 * time < $r->{endedAt} + 1000;
	ok(wait_until(60, sub {
		(get($sc, $r->{runId})->{errorCode} // '') eq 'RUN_NOT_FOUND'
	}), 'the record goes');
	my $again = script($sc, 'item', mode => 'sync',
		idempotencyKey => 'k');
	isnt($again->{runId}, $r->{runId}, 'and frees its key');
	ok(wait_until(60, sub {
		($sc->call('artifact.get', { artifactId => $art })
			->{errorCode} // '') eq 'ARTIFACT_EXPIRED'
	}), 'the artifact has expired');
	ok(wait_until(60, sub {
		$sc->call('run.list', {})->{total} == 0 }), 'all are swept');
	$s->stop;
};

is(left(60), '', 'no process is left');
done_testing();
