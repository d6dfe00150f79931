#!/usr/bin/perl
# A run's life as its callers see it, with the real programs and the real
# browser: how submissions are answered, queued and told apart, how a run ends
# and what is kept of it, for how long, and over which restarts.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure);
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use List::Util qw(shuffle);
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

# Promised, and how many times as long a shared machine may take.
use constant { CANCEL_S => 1, STOP_S => 5, SLOWER => 5 };

my $site = BrowserTask::Scenario::Site->new;
my $json = JSON::PP->new->utf8;
my $asked = 0;
my $no_run = 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV';
my $id = qr/[0-9A-HJKMNP-TV-Z]{26}/;

sub instance {
	my ($mode, @settings) = @_;
	return BrowserTask::Harness->new(mode => $mode,
		settings => \@settings)->start;
}

# Fresh addresses of generated articles.
sub pages {
	my ($n) = @_;
	return map { $site->url("/corpus/$_?n=" . ++$asked) } 1 .. $n;
}

# A run that lasts until it is canceled or its time is over, behind $n pages.
sub hold {
	my ($c, $n, %options) = @_;
	return batch($c, [ pages($n), $site->url('/never-headers') ],
		{ mode => 'async', %options }, concurrency => 1);
}

sub cancel { return $_[0]->call('run.cancel', { runId => $_[1] }) }

sub running {
	my ($c, $run) = @_;
	return event($c, $run, 120,
		sub { $_[0]{type} eq 'run_started' });
}

sub has {
	my ($r, $name, %want) = @_;
	for my $key (sort keys %want) {
		like($r->{$key} // '(null)', $want{$key}, "$name: $key");
	}
}

sub bool_is {
	my ($got, $want, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(JSON::PP::is_bool($got) && !$got eq !$want, $name);
}

# The fields of an answer that is no result yet.
sub check_brief {
	my ($r, $name, $mode) = @_;
	has($r, $name, runId => qr/^run_$id$/, sessionId => qr/^sess_$id$/,
		status => qr/^(queued|running)$/, mode => qr/^$mode$/);
	bool_is($r->{deduplicated}, 0, "$name: deduplicated");
	ok(!defined $r->{result}, "$name: no result");
}

# The Run object of a run that succeeded.
sub check_whole {
	my ($r, $name, $mode) = @_;
	has($r, $name, runId => qr/^run_$id$/, sessionId => qr/^sess_$id$/,
		templateId => qr/^batch_extract_pages$/,
		status => qr/^succeeded$/, mode => qr/^$mode$/,
		createdAt => qr/^\d{13}$/, updatedAt => qr/^\d{13}$/);
	bool_is($r->{ownsSession}, 1, "$name: ownsSession");
	is($r->{progress}{doneSteps}, $r->{progress}{totalSteps},
		"$name: progress");
	like($r->{metrics}{elapsedMs}, qr/^\d+$/, "$name: elapsedMs");
	is(ref $r->{result}{items}, 'ARRAY', "$name: result");
	ok(exists $r->{error} && !defined $r->{error}, "$name: no error");
	ok(@{ $r->{artifactIds} } > 0
		&& !(grep { !/^art_$id$/ } @{ $r->{artifactIds} }),
		"$name: artifactIds");
}

sub test_modes {
	my ($c) = @_;
	my $r = batch($c, [ pages(2) ], { mode => 'sync' });

	check_whole($r, 'sync', 'sync');
	bool_is($r->{deduplicated}, 0, 'sync: deduplicated');
	is($r->{timeoutMs}, 200000, 'sync: no longer than syncTimeoutMs');
	my $again = get($c, $r->{runId});
	check_whole($again, 'get', 'sync');
	ok(!exists $again->{deduplicated}, 'get: is no submission');

	$r = batch($c, [ pages(2) ], { mode => 'async', timeoutMs => 600000,
		idempotencyKey => 'mode' });
	check_brief($r, 'async', 'async');
	is($r->{timeoutMs}, 250000, 'async: no longer than asyncTimeoutMs');
	$again = batch($c, [ pages(1) ], { mode => 'async',
		idempotencyKey => 'mode' });
	is($again->{runId}, $r->{runId}, 'a repeat: the same run');
	is($again->{sessionId}, $r->{sessionId}, 'a repeat: its session');
	bool_is($again->{deduplicated}, 1, 'a repeat: deduplicated');
	bool_is($again->{paramsMismatch}, 1, 'a repeat: of other inputs');
	check_whole(ended($c, $r->{runId}), 'async, later', 'async');
	my $now;
	# One may have ended before it is looked at.
	ok(wait_until(60, sub {
		my $run = batch($c, [ pages(4) ], { mode => 'async' })->{runId};
		running($c, $run);
		$now = get($c, $run, 'output');
		ended($c, $run);
		return $now->{status} eq 'running';
	}), 'a run is seen while it runs');
	ok(exists $now->{$_} && !defined $now->{$_},
		"while it runs: $_ is null") for qw(result error output endedAt);
	cmp_ok($now->{progress}{doneSteps}, '<=', 4, 'while it runs: progress');

	is(batch($c, [ pages(10) ])->{mode}, 'sync', 'auto: ten pages, sync');
	$r = batch($c, [ pages(11) ], { mode => 'auto' });
	check_brief($r, 'auto: eleven pages', 'async');
	my $held = hold($c, 0);
	my $full = batch($c, [ pages(1) ]);
	check_brief($full, 'auto: the pool is full', 'async');
	bool_is(cancel($c, $held->{runId})->{success}, 1, 'it is free');
	is(ended($c, $_->{runId})->{status}, 'succeeded', 'auto: both run')
	    for $r, $full;

	my $trace = 'c0ffee' . '0' x 26;
	$r = batch($c, [ pages(1) ], {}, trace_id => $trace);
	is($r->{traceId}, $trace, 'inputs.trace_id is taken');
	$r = batch($c, [ pages(1) ], {}, trace_id => 'NOT ONE');
	like($r->{traceId}, qr/^[0-9a-f]{32}$/, 'or made when it is none');
	is($r->{status}, 'succeeded', 'and is no input');
}

sub test_profile {
	my ($c, $i) = @_;
	my $p = $c->call('profile.get');
	my %want = (maxConcurrentRuns => 1, maxUrls => 1000,
		maxTabsPerSession => 20, syncTimeoutMs => 200000,
		asyncTimeoutMs => 250000, artifactMaxChunkSize => 262144,
		artifactTtlMs => 86400000, runTtlMs => 1800000,
		trustLevel => 'local');
	is($p->{$_}, $want{$_}, "profile: $_") for sort keys %want;
	is_deeply($p->{supportedModes}, [ qw(sync async auto) ],
		'profile: supportedModes');
	bool_is($p->{isRemote}, 0, 'profile: isRemote');
	my %n = %{ $p->{runs} };
	is_deeply([ sort keys %n ], [ sort qw(queued running succeeded
		partial_success failed canceled) ], 'profile: runs by status');
	for my $status (sort keys %n) {
		is($c->call('run.list', { status => $status, limit => 1 })
			->{total}, $n{$status}, "$status: as run.list has it");
	}
}

sub test_queue {
	my ($c) = @_;
	my $held = hold($c, 0);
	my %r;

	running($c, $held->{runId});
	$r{$_} = batch($c, [ pages(1) ], { mode => 'async', priority => $_,
		idempotencyKey => "queue $_" }) for qw(low normal high critical);
	my @order = qw(critical high normal low);
	for my $n (0 .. 3) {
		my $q = get($c, $r{ $order[$n] }{runId});
		is($q->{queuePosition}, $n + 1, "$order[$n]: its position");
		is($q->{status}, 'queued', "$order[$n]: queued");
		ok(exists $q->{$_} && !defined $q->{$_},
			"$order[$n]: $_ is null") for qw(result error startedAt);
	}
	my $no = batch($c, [ pages(1) ], { mode => 'sync' });
	error_is($no, 'EXECUTION_ERROR', 'QUEUE_FULL', 'a fifth is refused');
	bool_is($no->{retryable}, 1, 'for now');
	ok(length $no->{recoverHint}, 'with advice');
	is(batch($c, [ pages(1) ], { mode => 'async',
		idempotencyKey => 'queue low' })->{runId}, $r{low}{runId},
		'a key that is known is not');
	my $answer = cancel($c, $r{normal}{runId});
	bool_is($answer->{success}, 1, 'a queued run is canceled');
	is($answer->{runId}, $r{normal}{runId}, 'which is said');
	is(get($c, $r{low}{runId})->{queuePosition}, 3, 'others move up');
	my $gone = get($c, $r{normal}{runId}, 'output');
	error_is($gone->{error}, 'RUN_CANCELED', 'RUN_CANCELED', 'its error');
	is($gone->{output}{error}{step}, 'queue', 'it got as far as the queue');
	is($gone->{startedAt}, undef, 'it never started');
	bool_is(cancel($c, $held->{runId})->{success}, 1, 'the pool is free');
	delete $r{normal};
	$r{$_} = ended($c, $r{$_}{runId}) for keys %r;
	is(join(' ', sort { $r{$a}{startedAt} <=> $r{$b}{startedAt} } keys %r),
		'critical high low', 'they start by priority');
	for my $p (sort keys %r) {
		is($r{$p}{status}, 'succeeded', "$p: succeeds");
		cmp_ok($r{$p}{metrics}{queueMs}, '>=',
			$r{$p}{startedAt} - $r{$p}{createdAt} - 1,
			"$p: its time in the queue");
	}
}

sub test_timeout {
	my ($c) = @_;
	my $r = hold($c, 4, timeoutMs => 8000);
	my $end = ended($c, $r->{runId});
	my $out = $end->{output};

	is($end->{status}, 'failed', 'timeout: failed');
	error_is($end->{error}, 'RUN_TIMEOUT', 'RUN_TIMEOUT', 'timeout: error');
	is($end->{result}, undef, 'timeout: no result');
	is($out->{error}{code}, 'RUN_TIMEOUT', 'timeout: code');
	is($out->{error}{step}, 'extract_pages', 'timeout: step');
	is($out->{steps}[0]{error_code}, 'RUN_TIMEOUT', 'timeout: its code');
	# On a slow machine not all of them.
	my $read = grep { $_->{type} eq 'progress' } @{ $c->call('run.events',
		{ runId => $r->{runId} })->{events} };
	cmp_ok($read, '>=', 1, "timeout: $read were read");
	is(scalar(grep { $_->{success} } @{ $out->{result}{items} }), $read,
		'timeout: what was read is kept');
	is_deeply($out->{result}{summary}, { total => 5, succeeded => $read,
		failed => 0 }, 'timeout: and counted')
	    or diag explain $out->{result}{summary};
	is($end->{progress}{doneSteps}, $read, 'timeout: progress');
	my $doc = artifact_of($end, 'extraction');
	is(scalar @{ $json->decode(artifact($c, $doc->{artifact_id})) }, $read,
		'timeout: so is its artifact');
	cmp_ok($end->{metrics}{elapsedMs}, '>=', 8000, 'timeout: not before');
	my $none = hold($c, 0, timeoutMs => 1, mode => 'sync');
	error_is($none->{error}, 'RUN_TIMEOUT', 'RUN_TIMEOUT', 'a limit of 1 ms');
	ok(length $none->{error}{details}{failedStep}, 'names a step');
	return $end;
}

sub test_cancel {
	my ($c, $i, $ended) = @_;
	my $r = hold($c, 2);
	my $other = client($i);

	done($c, $r->{runId}, 2);
	my $was = time;
	my $one = $c->send('run.cancel', { runId => $r->{runId} });
	my $two = $other->send('run.cancel', { runId => $r->{runId} });
	my @a = ($c->answer($one), $other->answer($two));
	my $took = time - $was;
	ok((grep { $_->{success} } @a) >= 1
		&& !(grep { $_->{errorCode} && $_->{errorCode} ne 'RUN_CANCELED' }
		    @a), 'cancel: by two at once') or diag explain \@a;
	cmp_ok($took, '<', CANCEL_S * SLOWER, sprintf 'cancel: in %.0f ms',
		1000 * $took);
	my $end = get($c, $r->{runId}, 'output');
	is($end->{status}, 'canceled', 'cancel: is durable');
	error_is($end->{error}, 'RUN_CANCELED', 'RUN_CANCELED', 'its error');
	bool_is($end->{output}{ok}, 0, 'cancel: not ok');
	is(scalar @{ $end->{output}{result}{items} }, 2,
		'cancel: what was read is kept');
	for my $over ($end, $ended) {
		my $no = cancel($c, $over->{runId});
		bool_is($no->{success}, 0, "a run that is $over->{status}");
		ok(length $no->{reason} && !$no->{errorCode},
			"is not canceled, no error: $no->{reason}");
		is(get($c, $over->{runId})->{status}, $over->{status},
			'and stays as it is');
	}
	is(cancel($c, $_)->{errorCode}, 'RUN_NOT_FOUND', "cancel $_")
	    for $no_run, 'run_x', 'x';
}

# Newest first; every page of the list together is the list.
sub test_lists {
	my ($c) = @_;
	my $all = $c->call('run.list', { limit => 1000 });
	my @runs = @{ $all->{runs} };
	my @paged;

	is($all->{total}, scalar @runs, 'list: total');
	is_deeply([ map { $_->{runId} } @runs ],
		[ map { $_->{runId} } sort { $b->{createdAt} <=> $a->{createdAt}
		    || $b->{runId} cmp $a->{runId} } @runs ],
		'list: newest first');
	for (my $at = 0; $at < @runs; $at += 4) {
		my $page = $c->call('run.list', { limit => 4, offset => $at });
		push @paged, @{ $page->{runs} };
		is_deeply([ @$page{qw(total limit offset)} ],
			[ scalar @runs, 4, $at ], "list: from $at");
	}
	is_deeply(\@paged, \@runs, 'list: page by page');
	for my $status (qw(succeeded canceled failed running)) {
		my $some = $c->call('run.list', { status => $status });
		is_deeply([ map { $_->{runId} } @{ $some->{runs} } ],
			[ map { $_->{runId} } grep { $_->{status} eq $status }
			    @runs ], "list: $status");
		is($some->{total}, scalar @{ $some->{runs} },
			"list: $some->{total} of them");
	}
	is($c->call('run.list', { templateId => 'batch_extract_pages',
		status => 'succeeded', limit => 1 })->{total},
		scalar(grep { $_->{status} eq 'succeeded' } @runs),
		'list: two filters');
	is_deeply($c->call('run.list', { templateId => 'other' })->{runs}, [],
		'list: of another template');
	my $one = $c->call('run.list', { sessionId => $runs[1]{sessionId} });
	is_deeply([ map { $_->{runId} } @{ $one->{runs} } ],
		[ $runs[1]{runId} ], 'list: of one session');
	is($one->{total}, 1, 'list: counted');
	is_deeply($c->call('run.list', { offset => 1000 })->{runs}, [],
		'list: behind its end');
	is($c->call('run.list', {@$_})->{errorCode}, 'INVALID_PARAMETER',
		"list: @$_") for [ limit => 0 ], [ limit => 1001 ],
		[ offset => -1 ], [ status => 'asleep' ];
}

# A client of its own process, which submits all keys and asks again after
# every uncertain answer. Prints what it was told.
sub submitter {
	my ($i, $n, $out, @keys) = @_;
	my $c;

	for my $key (shuffle @keys) {
		my $r;
		wait_until(60, sub {
			$c //= eval { client($i) };
			$r = $c && eval {
				$c->run('batch_extract_pages',
					{ urls => ["http://127.0.0.1:1/$key"] },
					{ mode => 'async',
					idempotencyKey => $key });
			};
			undef $c if !$r;
			return $r && $r->{runId};
		});
		syswrite $out, join(' ', $n, $key, $r->{runId} // '?',
			$r->{deduplicated} ? 1 : 0) . "\n";
	}
}

# 16 clients, 100 keys; the supervisor dies among them.
sub test_keys {
	my ($i, $kill) = @_;
	my $c = client($i);
	my $held = hold($c, 0, timeoutMs => 600000);
	my @keys = map { sprintf 'key-%d-%03d', $kill, $_ } 1 .. 100;
	my (@kids, %run, %new, $answers);

	running($c, $held->{runId});
	my $before = $c->call('run.list', { limit => 1 })->{total};
	pipe(my $r, my $w) or die "pipe: $!\n";
	for my $n (1 .. 16) {
		my $pid = fork() // die "fork: $!\n";
		if ($pid == 0) {
			close $r;
			srand $n;
			submitter($i, $n, $w, @keys);
			POSIX::_exit(0);
		}
		push @kids, $pid;
	}
	close $w;
	my $was = time;
	while (<$r>) {
		my (undef, $key, $run, $known) = split;
		$run{$key}{$run}++;
		$new{$key}++ if !$known;
		kill 'KILL', $c->call('profile.get')->{pid}
		    if $kill && ++$answers == 500;
		$answers++ if !$kill;
	}
	figure('%d answers in %.1f s', $answers, time - $was);
	wait_until(60, sub { $c = eval { client($i) } });
	is($answers, 1600, 'every submission is answered');
	is_deeply([ grep { keys %{ $run{$_} } != 1 || $run{$_}{'?'} } @keys ],
		[], 'a hundred keys, one run each');
	is_deeply([ grep { ($new{$_} // 0) > 1 } @keys ], [],
		'none is new twice');
	is(scalar(keys %new), 100, 'each is new once') if !$kill;
	is($c->call('run.list', { limit => 1 })->{total}, $before + 100,
		'there are no others');
	my @ids = map { keys %{ $run{$_} } } @keys;
	my @seq = map { $c->send('run.cancel', { runId => $_ }) }
	    @ids, $held->{runId};
	my @a = map { $c->answer($_) } @seq;
	is(scalar(grep { $_->{success} } @a), 101, 'all are canceled');
	my $again = $c->run('batch_extract_pages',
		{ urls => ["http://127.0.0.1:1/$keys[7]"] },
		{ mode => 'sync', idempotencyKey => $keys[7] });
	is($again->{runId}, (keys %{ $run{ $keys[7] } })[0],
		'a canceled run keeps its key');
	is($again->{status}, 'canceled', 'and is answered');
	ok(!$again->{paramsMismatch}, 'with the same inputs');
}

# A client that waits for its run and is killed; the run does not notice.
sub test_client_killed {
	my ($i) = @_;
	my $c = client($i);
	my @runs;

	for my $n (1 .. 4) {
		my @urls = pages(6);
		my $key = "killed $n";
		my $pid = fork() // die "fork: $!\n";
		if ($pid == 0) {
			$i->ctl('submit', 'batch_extract_pages',
				(map { "urls=$_" } @urls), '--key', $key,
				'--wait') if $n % 2;
			client($i)->run('batch_extract_pages',
				{ urls => \@urls }, { mode => 'sync',
				idempotencyKey => $key }) if $n % 2 == 0;
			POSIX::_exit(0);
		}
		my $r;
		wait_until(60, sub {
			my $l = $c->call('run.list', { limit => 1 });
			$r = $l->{runs}[0];
			return $r && $r->{status} eq 'running'
			    && !(grep { $_ eq $r->{runId} } @runs);
		});
		done($c, $r->{runId}, $n - 1);
		my @client = grep { $_->{cmd} =~ /browsertaskctl/ } tree($pid);
		kill 'KILL', $pid, map { $_->{pid} } @client;
		push @runs, $r->{runId};
	}
	for my $run (@runs) {
		my $r = ended($c, $run);
		is($r->{status}, 'succeeded', 'its client is killed, not it');
		is($r->{result}{summary}{succeeded}, 6, 'it reads all');
	}
}

# How many regular files are below the directories of this name.
sub files_in {
	my ($i, $name) = @_;
	my @todo = ($i->state_dir);
	my $n = 0;

	while (defined(my $dir = shift @todo)) {
		opendir(my $dh, $dir) or next;
		for my $path (map { "$dir/$_" } grep { !/^\./ } readdir $dh) {
			push @todo, $path if -d $path;
			$n++ if -f _ && $path =~ m{/\Q$name\E/};
		}
	}
	return $n;
}

sub test_retention {
	my ($mode) = @_;
	my $i = instance($mode, 'runTtlMs=2000', 'artifactTtlMs=4000',
		'tombstoneTtlMs=5000');
	my $c = client($i);
	my $code = sub {
		my ($what, %p) = @_;
		return $c->call($what, \%p)->{errorCode} // '';
	};
	my %options = (mode => 'sync', idempotencyKey => 'kept');
	my $r = batch($c, [ pages(5) ], \%options, concurrency => 5,
		extract => { maxContentLength => 50000 });
	my ($art) = grep { $_->{kind} eq 'extraction' }
	    @{ $c->call('artifact.list', { runId => $r->{runId} })
		->{artifacts} };
	my $ended = $r->{endedAt} / 1000;
	my $age = sub { time - $ended };

	is($art->{expiresAt}, $r->{endedAt} + 4000, 'says when it goes');
	cmp_ok(files_in($i, 'artifacts'), '>=', 1, 'a file holds the extraction');
	is(batch($c, [ pages(1) ], \%options)->{runId}, $r->{runId},
		'the key holds') if $age->() < 1.5;
	ok(wait_until(60, sub {
		$code->('run.get', runId => $r->{runId}) eq 'RUN_NOT_FOUND' }),
		'the record goes');
	cmp_ok($age->(), '>=', 1.9, sprintf 'not before its time, %.1f s',
		$age->());
	is($code->("run.$_", runId => $r->{runId}), 'RUN_NOT_FOUND',
		"run.$_ says so, too") for qw(cancel events follow);
	is($code->('artifact.list', runId => $r->{runId}), 'RUN_NOT_FOUND',
		'nor are its artifacts listed');
	my $bytes = $age->() < 3.5 ? artifact($c, $art->{artifactId}) : undef;
	is(defined $bytes ? length $bytes : $art->{totalSize},
		$art->{totalSize}, 'but they can be read');
	ok(wait_until(60, sub { $code->('artifact.get',
		artifactId => $art->{artifactId}) eq 'ARTIFACT_EXPIRED' }),
		'the artifact expires');
	cmp_ok($age->(), '>=', 3.9, sprintf 'not before its time, %.1f s',
		$age->());
	my $again = batch($c, [ pages(1) ], { %options, mode => 'async' });
	isnt($again->{runId}, $r->{runId}, 'its key is free again');
	bool_is($again->{deduplicated}, 0, 'and used anew');
	ok(wait_until(60, sub { $code->('artifact.get',
		artifactId => $art->{artifactId}) eq 'ARTIFACT_NOT_FOUND' }),
		'and is forgotten');
	cmp_ok($age->(), '>=', 8.9, sprintf 'not before its time, %.1f s',
		$age->());
	ok(wait_until(60, sub { $c->call('run.list', {})->{total} == 0 }),
		'no run is left');
	is_deeply([ grep { $_ } values %{ $c->call('profile.get')->{runs} } ],
		[], 'nor counted');
	ok(wait_until(60, sub { files_in($i, 'artifacts') == 0 }),
		'nor any file');
	is($i->stop, 0, 'stops');
}

sub follow {
	my ($c, $run, $seen, $until) = @_;
	my $after = @$seen ? $seen->[-1]{seq} : 0;
	my $r = $c->call('run.follow', { runId => $run, afterSeq => $after });

	return $r if $r->{errorCode};
	while (my $note = $c->event(60)) {
		my ($name, $p) = @$note;
		push @$seen, $p->{event} if $name eq 'event' && $p->{seq};
		last if $seen->[-1]{type} =~ /^run_(completed|failed|canceled)$/
		    || $until && $until->($seen->[-1]);
	}
	return $r;
}

# The indexes of the items that these events say are done.
sub journaled {
	return grep { defined } map { $_->{data}{index} } @_;
}

# How often each address was asked for, by index.
sub counts {
	my @urls = @_;
	my %count = $site->fetched;
	return map { $_ => $count{ substr $urls[$_], length $site->{address} }
	    // 0 } 0 .. $#urls;
}

# Followed to its end by a client that resumes where it was, over a restart
# that is a kill, then one that is a stop.
sub test_restarts {
	my ($i) = @_;
	my $c = client($i);
	my @urls = pages(60);
	my (@seen, $n);

	$site->reset;
	my $r = batch($c, \@urls, { mode => 'async', idempotencyKey => 'long' },
		concurrency => 2);
	my $run = $r->{runId};
	my $items = sub {
		my ($want) = @_;
		return sub { defined $_[0]{data}{index} && ++$n == $want };
	};
	follow($c, $run, \@seen, $items->(3));
	my $epoch = $c->call('profile.get')->{epoch};
	kill 'KILL', $c->call('profile.get')->{pid};
	ok($c->closed, 'supervisord is killed');
	my @before = journaled(@seen);
	$c = wait_until(60, sub { eval { client($i) } });
	is($c->call('profile.get')->{epoch}, $epoch + 1, 'and back');
	is(get($c, $run)->{attempt}, 1, 'its runs go on');
	$n = 0;
	follow($c, $run, \@seen, $items->(3));

	my ($took, $status) = timed(sub { $i->stop });
	is($status, 0, 'SIGTERM in the middle of a batch');
	cmp_ok($took, '<', STOP_S * SLOWER, sprintf 'stops in %.1f s', $took);
	is(left(60, $site->{pid}), '', 'nothing is left');
	my @journaled = journaled(@seen);
	my %once = counts(@urls);
	($took) = timed(sub { $i->start });
	figure('serves again after %.2f s', $took);
	$c = client($i);
	is(batch($c, \@urls, { mode => 'async', idempotencyKey => 'long' })
		->{runId}, $run, 'its key is known');
	follow($c, $run, \@seen);
	my $end = get($c, $run, 'output');
	is($end->{status}, 'succeeded', 'the batch goes on to its end')
	    or diag explain $end->{error};
	is($end->{attempt}, 2, 'second attempt');
	is_deeply([ map { $_->{url} } @{ $end->{result}{items} } ], \@urls,
		'every item is there once, in order');
	is($end->{result}{summary}{succeeded}, scalar @urls, 'and was read');
	my %twice = counts(@urls);
	cmp_ok(scalar @journaled, '>=', 6, 'of those journaled before');
	is_deeply([ grep { $twice{$_} != $once{$_} } @journaled ], [],
		'none was fetched again');
	is_deeply([ grep { $twice{$_} != 1 } @before ], [],
		'nor of those before the first restart');

	my $log = $c->call('run.events', { runId => $run })->{events};
	is_deeply([ map { $_->{seq} } @seen ], [ 1 .. @seen ],
		'followed over both restarts without a gap');
	is_deeply(\@seen, $log, 'to what is stored');
	is($seen[0]{type}, 'run_created', 'from its creation');
	is($seen[-1]{type}, 'run_completed', 'to its end');
	is((grep { $_->{type} eq 'run_started' } @seen), 2, 'two starts');
	my $doc = artifact_of($end, 'extraction');
	my $all = $json->decode(artifact($c, $doc->{artifact_id}));
	is_deeply([ map { $_->{url} } @$all ], \@urls,
		'the extraction is of one piece');
	is_deeply([ map { $_->{seq} } @{ $c->call('run.events',
		{ runId => $run, afterSeq => 5, limit => 3 })->{events} } ],
		[ 6, 7, 8 ], 'events from any number on');
}

# A cancel that was sent when supervisord died: whatever became of it, the run
# is in a state of which it can be canceled, or is.
sub test_cancel_and_crash {
	my ($i) = @_;
	for my $n (1 .. 3) {
		my $c = client($i);
		my $run = hold($c, 1)->{runId};
		my $pid = $c->call('profile.get')->{pid};

		done($c, $run, 1);
		my $seq = $c->send('run.cancel', { runId => $run });
		$c->receive(1) if $n == 3;    # its answer is there
		kill 'KILL', $pid;
		my $said = eval { $c->answer($seq, 10) };
		$c = wait_until(60, sub { eval { client($i) } });
		my $r = get($c, $run);
		is($r->{status}, 'canceled', 'an answered cancel is durable')
		    if $said;
		my $again = cancel($c, $run);
		$r = ended($c, $run, 120);
		error_is($r->{error}, 'RUN_CANCELED', 'RUN_CANCELED',
			'canceled' . ($said ? ', as was said before' : ''));
		is(scalar @{ $r->{output}{result}{items} }, 1,
			'what was read is kept');
	}
}

sub test_second {
	my ($i) = @_;
	my $second = BrowserTask::Harness->new(mode => $i->{mode},
		state => $i->state_dir)->launch;

	is($second->wait >> 8, 75, 'a second daemon on its state: refused');
	like($second->log, qr/another browsertaskd uses the state directory \S/,
		'in words');
	like($second->log, qr/\Q@{[ $i->state_dir ]}\E/, 'which names it');
	is(client($i)->call('profile.get')->{errorCode}, undef,
		'the first does not mind');
}

sub test_life {
	my ($mode) = @_;
	my $i = instance($mode, 'maxConcurrentRuns=1', 'maxQueuedRuns=4',
		'syncTimeoutMs=200000', 'asyncTimeoutMs=250000');
	my $c = client($i);

	subtest modes => sub { test_modes($c) } if $mode eq (modes())[0];
	subtest queue => sub { test_queue($c) };
	subtest 'timeout and cancel' => sub {
		test_cancel($c, $i, test_timeout($c));
	};
	subtest 'second daemon' => sub { test_second($i) };
	subtest restarts => sub { test_restarts($i) };
	subtest 'cancel and crash' => sub { test_cancel_and_crash($i) };
	subtest lists => sub { test_lists(client($i)) };
	subtest profile => sub { test_profile(client($i), $i) };
	is($i->stop, 0, 'stops');
}

sub test_many {
	my ($mode) = @_;
	my $i = instance($mode, 'maxConcurrentRuns=1');

	subtest keys => sub { test_keys($i, 0) } if $mode eq (modes())[0];
	subtest 'keys and a crash' => sub { test_keys($i, 1) };
	subtest 'clients killed' => sub { test_client_killed($i) };
	is($i->stop, 0, 'stops');
}

beside(mode_parts(life => \&test_life, many => \&test_many,
	retention => \&test_retention));
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
