#!/usr/bin/perl
# Sessions that outlive their runs, with the real browser: what a run left is
# there for the next one, in the living browser, in a new one after it was
# closed or killed, and after a restart of the service. One run at a time uses a
# session, others wait; nobody else may; nothing is left of one that has ended.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use Fcntl qw(O_NONBLOCK O_WRONLY);
use IO::Handle;
use IO::Select;
use IO::Socket::INET;
use Test::More;
use Time::HiRes qw(time);

my $true = $BrowserTask::Client::true;
my $build = $ENV{builddir} // die "builddir is not set\n";

# A site that signs everybody in and says which cookies it was sent. /hang is
# answered when the test says so.
my $listen = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1')
    or die "listen: $!\n";
my $base = 'http://127.0.0.1:' . $listen->sockport;
pipe(my $told, my $tell) or die;
pipe(my $hung, my $hang) or die;
$hung->blocking(0);
my $site = fork() // die;
if ($site == 0) {
	my $select = IO::Select->new($listen, $told);
	my @held;
	$SIG{PIPE} = 'IGNORE';
	for (;;) {
		for my $fh ($select->can_read) {
			if ($fh == $told) {
				sysread($told, my $byte, 1) or POSIX::_exit(0);
				answer($_, 'released', '') for splice @held;
				next;
			}
			my $peer = $listen->accept or next;
			my $head = '';
			while ($head !~ /\r\n\r\n/) {
				sysread($peer, $head, 8192, length $head)
				    or last;
			}
			my ($path) = $head =~ m{^GET (\S+)} or next;
			my ($cookies) = $head =~ /^Cookie: (.*?)\r$/mi;
			if ($path eq '/hang') {
				push @held, $peer;
				syswrite $hang, 'x';
			} else {
				answer($peer, $cookies, $path);
			}
		}
	}
}
close $told;
close $hang;

sub answer {
	my ($peer, $cookies, $path) = @_;
	my $text = 'cookies: '
	    . join('; ', sort split /; /, $cookies // '') . '.';
	print $peer "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    . "Connection: close\r\n"
	    . ($path =~ m{^/in/(\w+)} ? "Set-Cookie: short=$1; Path=/; HttpOnly;"
		. " SameSite=Lax\r\nSet-Cookie: long=$1; Path=/; Max-Age=9999\r\n"
		: '')
	    . 'Content-Length: ' . length($text) . "\r\n\r\n$text";
	close $peer;
}

sub release { syswrite $tell, 'x' }

# How many requests have hung so far.
my $hangs = 0;
sub hangs { return $hangs += sysread($hung, my $bytes, 4096) // 0 }

END { kill KILL => $site if $site }

# Submits and waits.
sub run_in {
	my ($c, $session, $template, %inputs) = @_;
	my $r = start_in($c, $session, $template, %inputs);
	return $r if $r->{errorCode};
	return ended($c, $r->{runId}, 120);
}

sub start_in {
	my ($c, $session, $template, %inputs) = @_;
	return $c->call('run.submit', { templateId => $template,
		inputs => \%inputs, options => { mode => 'async' },
		defined $session ? (sessionId => $session) : () });
}

sub said { return $_[0]{result}{said}[ $_[1] // 0 ] // {} }

sub row {
	my ($c, $session) = @_;
	my ($row) = grep { $_->{sessionId} eq $session }
	    @{ $c->call('session.list')->{sessions} };
	return $row // {};
}

sub browsers {
	my ($i) = @_;
	return grep { $_->{state} ne 'Z' && $_->{cmd} =~ /remote-debugging-pipe/
	    && $_->{cmd} !~ /--type=/ } tree($i->{pid});
}

# Names of what is kept of sessions on the disk.
sub kept {
	my ($i) = @_;
	my @names;
	for my $dir ('sessions', 'profiles/kept') {
		opendir(my $dh, $i->state_dir . "/$dir") or next;
		push @names, map { "$dir/$_" } grep { !/^\.\.?$/ } readdir $dh;
	}
	return join ' ', sort @names;
}

sub instance {
	return BrowserTask::Harness->new(programs => {
		workerd => "$build/t/scenario/keepworker" },
		settings => [ @_ ])->start;
}

my $both = 'cookies: long=%s; short=%1$s.';
my $i = instance('sessionIdleMs=600000', 'maxLivingSessions=2',
    'clientGroup=65534');
my $c = client($i);
my $session;

subtest 'a session is kept' => sub {
	my $r = run_in($c, undef, 'visitor', urls => [ "$base/in/none" ]);
	is($r->{status}, 'succeeded', 'a run of a template that keeps none');
	is_deeply($c->call('session.list')->{sessions}, [], 'leaves none');
	is(run_in($c, $r->{sessionId}, 'visitor')->{errorCode},
	    'SESSION_NOT_FOUND', 'to be used');
	is(run_in($c, 'sess_x', 'visitor')->{errorCode}, 'SESSION_NOT_FOUND',
	    'nor is there one of a name that is none');

	$r = run_in($c, undef, 'keeper', urls => [ "$base/in/one", "$base/who" ],
	    store => 'kept');
	is($r->{status}, 'succeeded', 'a run of one that does') or
	    diag explain $r;
	ok($r->{ownsSession}, 'it owns its session');
	is(said($r, 1)->{text}, sprintf($both, 'one'), 'it was signed in');
	$session = $r->{sessionId};
	my $row = row($c, $session);
	is($row->{templateId}, 'keeper', 'which is listed');
	is($row->{lastRunId}, $r->{runId}, 'with its run');
	ok($row->{living} && !$row->{busy}, 'its browser waits');
	cmp_ok($row->{expiresAt}, '>', $row->{lastUsedAt}, 'it will expire');
	is($c->call('profile.get')->{livingSessions}, 1, 'the profile says so');
	is($c->call('profile.get')->{sessions}, 1, 'and how many there are');
	is(browsers($i), 1, 'one browser lives');

	my %same = (templateId => 'visitor', inputs => { urls => [] },
		options => { mode => 'async', idempotencyKey => 'k' });
	my $in = $c->call('run.submit', { %same, sessionId => $session });
	ok(ended($c, $in->{runId}, 120), 'a run in it, with a key');
	ok(!$c->call('run.submit', { %same, sessionId => $session })
	    ->{paramsMismatch}, 'is the same when it is submitted again');
	ok($c->call('run.submit', \%same)->{paramsMismatch},
	    'but not without the session');

	$r = run_in($c, undef, 'keeper', urls => [ "$base/in/no" ], fail => $true);
	is($r->{status}, 'failed', 'a run that fails');
	is(scalar @{ $c->call('session.list')->{sessions} }, 1, 'keeps none');
	ok(wait_until(60, sub { browsers($i) == 1 }), 'no browser');
	ok(wait_until(60, sub { kept($i) !~ /\Q$r->{sessionId}\E/ }),
	    'and nothing on the disk');
};

subtest 'in the living browser' => sub {
	my ($before) = browsers($i);
	my $r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is($r->{status}, 'succeeded', 'the next run') or diag explain $r;
	ok(!$r->{ownsSession}, 'does not own the session');
	is($r->{sessionId}, $session, 'it was lent');
	my ($after) = browsers($i);
	is($after->{pid}, $before->{pid}, 'it goes on in the same browser');
	is(said($r)->{kept}, 'kept', 'and tab');
	is(said($r)->{text}, sprintf($both, 'one'), 'with its cookies');
	is(said($r)->{stored}, 'kept', 'and storage');
	is(row($c, $session)->{lastRunId}, $r->{runId}, 'it is noted');

	$r = run_in($c, $session, 'visitor', urls => [ "$base/in/two" ],
	    fail => $true);
	is($r->{status}, 'failed', 'a run in it that fails');
	$r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is(said($r)->{text}, sprintf($both, 'two'), 'does it no harm');
};

subtest 'one run at a time' => sub {
	my $first = start_in($c, $session, 'visitor', urls => [ "$base/hang" ]);
	ok(event($c, $first->{runId}, 120,
		sub { ($_[0]{data}{phase} // '') eq 'acting' }), 'a run');
	my @next = map { $c->call('run.submit', { templateId => 'visitor',
		inputs => { urls => [ "$base/who" ] }, sessionId => $session,
		options => { mode => 'auto' } }) } 1 .. 3;
	is($next[0]{mode}, 'async', 'nobody is made to wait for its end');
	my $other = run_in($c, undef, 'visitor', urls => [ "$base/who" ]);
	is($other->{status}, 'succeeded', 'another session is not held up');
	is(get($c, $_->{runId})->{status}, 'queued', 'those of this one wait')
	    for @next;
	my $row = row($c, $session);
	ok($row->{busy} && $row->{waitingRuns} == 3, 'the list says so');
	is($row->{expiresAt}, undef, 'it cannot expire');
	error_is($c->call('session.close', { sessionId => $session }),
	    'EXECUTION_ERROR', 'SESSION_IN_USE', 'nor be closed');
	ok($c->call('run.cancel', { runId => $next[1]{runId} })->{success},
	    'one that waits is canceled');
	release();
	my @r = map { ended($c, $_->{runId}, 120) } $first, @next[ 0, 2 ];
	is($_->{status}, 'succeeded', 'the others run') for @r;
	cmp_ok($r[0]{endedAt}, '<=', $r[1]{startedAt}, 'one after the other');
	cmp_ok($r[1]{endedAt}, '<=', $r[2]{startedAt}, 'in their order');

	$first = start_in($c, $session, 'visitor', urls => [ "$base/hang" ]);
	event($c, $first->{runId}, 120,
	    sub { ($_[0]{data}{phase} // '') eq 'acting' });
	my $last = start_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	ok($c->call('run.cancel', { runId => $first->{runId} })->{success},
	    'the one that uses it is canceled');
	my $r = ended($c, $last->{runId}, 120);
	is($r->{status}, 'succeeded', 'and the next one runs')
	    or diag explain $r;
	is(said($r)->{text}, sprintf($both, 'two'), 'with all cookies');
};

# The processes of a run that is acting: its worker's title names it a moment
# later.
sub at_work {
	my ($run) = @_;
	my %parts;

	wait_until(60, sub { %parts = parts($i, $run->{runId});
		@{ $parts{worker} } });
	return %parts;
}

sub is_dead {
	my ($pid) = @_;
	return !grep { $_->{pid} == $pid && $_->{state} ne 'Z' }
	    tree($i->{pid});
}

subtest 'after a worker was killed' => sub {
	my ($before) = browsers($i);
	my $run = start_in($c, $session, 'visitor', urls => [ "$base/hang" ]);
	event($c, $run->{runId}, 120,
	    sub { ($_[0]{data}{phase} // '') eq 'acting' });
	my %parts = at_work($run);
	kill KILL => $parts{worker}[0];
	my $r = ended($c, $run->{runId}, 120);
	is($r->{status}, 'failed', 'its run fails');
	is($r->{error}{details}{cause}, 'WORKER_LOST', 'as it should');
	release();
	$r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is($r->{status}, 'succeeded', 'the next one') or diag explain $r;
	my ($after) = browsers($i);
	is($after->{pid}, $before->{pid}, 'goes on in the same browser');
	is(said($r)->{text}, sprintf($both, 'two'), 'with all cookies');
	$r = ended($c, $c->call('run.submit', { templateId => 'visitor',
		inputs => { urls => [ "$base/hang" ] }, sessionId => $session,
		options => { mode => 'async', timeoutMs => 1500 } })->{runId});
	is($r->{error}{errorCode}, 'RUN_TIMEOUT', 'one takes too long');
	release();
	# A tab that still hangs is given up after some seconds: another one may say it.
	$r = run_in($c, $session, 'visitor', urls => [ "$base/who" ],
	    store => 'kept');
	is(said($r)->{text}, sprintf($both, 'two'), 'which harms nobody');
};

# Whether nothing more goes into the pipe that a browser has as a descriptor.
sub is_full {
	my ($browser, $fd) = @_;
	sysopen(my $fh, "/proc/$browser/fd/$fd", O_WRONLY | O_NONBLOCK)
	    or die "descriptor $fd of $browser: $!\n";
	return !IO::Select->new($fh)->can_write(0);
}

# Stops who reads that pipe at some moment when the other end is in a message
# that is longer than the pipe: it has filled the pipe and has more.
sub stop_within {
	my ($reader, $browser, $fd) = @_;
	return wait_until(60, sub {
		select undef, undef, undef, rand 0.1;
		kill STOP => $reader;
		return 1 if wait_until(0.5, sub { is_full($browser, $fd) });
		kill CONT => $reader;
		return 0;
	});
}

# A browser reads commands from its descriptor 3 and answers on 4. Both are
# longer than a pipe.
subtest 'after workers were killed in the middle of a message' => sub {
	my $rounds = sized('killed workers', 4, 50);
	my ($before) = browsers($i);
	my @within = (0, 0);
	my @wrong;

	for my $n (1 .. $rounds) {
		my $run = start_in($c, $session, 'visitor',
		    urls => [ "$base/who" ], noise => 3_000_000);
		event($c, $run->{runId}, 120,
		    sub { ($_[0]{data}{phase} // '') eq 'acting' });
		my %parts = at_work($run);
		my $worker = $parts{worker}[0];
		my $browser = $before->{pid};
		$within[ $n % 2 ]++ if $n % 2
		    ? stop_within($browser, $browser, 3)
		    : stop_within($worker, $browser, 4);
		kill KILL => $worker;
		wait_until(60, sub { is_dead($worker) });
		kill CONT => $browser;
		my $r = ended($c, $run->{runId}, 120);
		push @wrong, $r if $r->{error}{details}{cause} ne 'WORKER_LOST';
		$r = run_in($c, $session, 'visitor', urls => [ "$base/who" ],
		    store => 'kept');
		push @wrong, $r if $r->{status} ne 'succeeded'
		    || said($r)->{text} ne sprintf($both, 'two')
		    || !length(said($r)->{kept} // '');
	}
	my ($after) = browsers($i);
	is($after->{pid}, $before->{pid}, 'the browser is the same');
	is_deeply(\@within, [ $rounds / 2, $rounds / 2 ],
	    'half of them in a command, half while the browser answers');
	figure('%d workers killed in the middle of a command, %d in the middle'
	    . ' of an answer', @within[ 1, 0 ]);
	is(@wrong, 0, "$rounds killed: cookies and tab are there for the next"
	    . ' one each time') or diag explain \@wrong;
};

subtest 'after supervisord was killed' => sub {
	my $replace = sub {
		kill KILL => $c->call('profile.get')->{pid};
		$c->closed;
		$c = wait_until(60, sub { eval { client($i) } });
	};
	my $r = run_in($c, $session, 'visitor', urls => [ "$base/who" ],
	    store => 'kept');
	my ($before) = browsers($i);
	$replace->();
	ok(row($c, $session)->{living}, 'its browser waits on');
	$r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is($r->{status}, 'succeeded', 'the next run') or diag explain $r;
	is(said($r)->{kept}, 'kept', 'goes on in its tab');

	my $hung_before = hangs();
	my $run = start_in($c, $session, 'visitor',
	    urls => [ "$base/who", "$base/hang" ]);
	event($c, $run->{runId}, 120,
	    sub { ($_[0]{data}{phase} // '') eq 'acting' });
	at_work($run);
	my $waits = start_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	$replace->();
	is(get($c, $run->{runId})->{status}, 'running', 'a run in it goes on');
	is(get($c, $waits->{runId})->{status}, 'queued', 'and another waits');
	ok(wait_until(60, sub { hangs() > $hung_before }), 'for its page');
	release();
	$r = ended($c, $run->{runId}, 120);
	is("$r->{status} $r->{attempt}", 'succeeded 1', 'it ends well')
	    or diag explain $r;
	$r = ended($c, $waits->{runId}, 120);
	is($r->{status}, 'succeeded', 'and then the other one');
	is(said($r)->{kept}, 'kept', 'in the same tab');
	my ($after) = browsers($i);
	is($after->{pid}, $before->{pid}, 'of the same browser');
};

subtest 'after the browser was killed' => sub {
	my ($before) = browsers($i);
	kill KILL => $before->{pid};
	ok(wait_until(60, sub { !row($c, $session)->{living} }),
	    'it is seen to be gone');
	my $r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is($r->{status}, 'succeeded', 'the next run') or diag explain $r;
	is(said($r)->{text}, sprintf($both, 'two'),
	    'has all cookies in a new one');
	is(said($r)->{stored}, 'kept', 'and storage');
	($before) = browsers($i);
	my $cell = $before->{ppid};
	kill KILL => $cell;
	$r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is($r->{status}, 'succeeded', 'one right after its cell was killed')
	    or diag explain $r;
	is(said($r)->{text}, sprintf($both, 'two'), 'has them, too');
};

subtest 'browsers that wait' => sub {
	my @s = map { run_in($c, undef, 'keeper',
		urls => [ "$base/in/s$_" ])->{sessionId} } 1, 2;
	is(row($c, $session)->{living}, $BrowserTask::Client::false,
	    'the one longest unused makes room');
	ok(wait_until(60, sub { browsers($i) == 2 }), 'its browser is gone');
	my $r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is(said($r)->{text}, sprintf($both, 'two'), 'its cookies are there');
	ok(!row($c, $s[0])->{living} && row($c, $s[1])->{living},
	    'and the next one makes room');
	my $all = $c->call('session.list');
	is_deeply([ map { $_->{sessionId} } @{ $all->{sessions} } ],
	    [ @s[ 1, 0 ], $session ], 'the list has all, newest first');
	my $one = $c->call('session.list', { limit => 1 });
	is($one->{nextCursor}, $s[1], 'and goes on');
	is($c->call('session.list', { limit => 1, cursor => $s[1] })
	    ->{sessions}[0]{sessionId}, $s[0], 'where it ended');

	my ($status, $out) = $i->ctl('sessions');
	is($status, 0, 'browsertaskctl lists them');
	like($out, qr/^\Q$session\E +\S+ +keeper +browser /m, 'with states');
	($status) = $i->ctl('sessions', 'close', $s[0]);
	is($status, 0, 'and closes one');
	ok($c->call('session.close', { sessionId => $s[1] })->{success},
	    'so does session.close');
	is($c->call('session.close', { sessionId => $s[1] })->{errorCode},
	    'SESSION_NOT_FOUND', 'once');
	is(run_in($c, $s[1], 'visitor')->{errorCode}, 'SESSION_NOT_FOUND',
	    'no run is taken for it');
	my $id = substr $session, 5;
	ok(wait_until(60, sub { kept($i) eq
	    "profiles/kept/$session sessions/$id" }),
	    'nothing is left of them') or diag kept($i);
	is(browsers($i), 1, 'no browser either');
};

subtest 'after a restart' => sub {
	$i->stop;
	is(left(60, $site), '', 'no process is left');
	$i->start;
	$c = client($i);
	my $r = run_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	is($r->{status}, 'succeeded', 'the next run') or diag explain $r;
	is(said($r)->{text}, sprintf($both, 'two'), 'has all cookies');
	is(said($r)->{stored}, 'kept', 'and storage');

	my $first = start_in($c, $session, 'visitor', urls => [ "$base/hang" ]);
	event($c, $first->{runId}, 120,
	    sub { ($_[0]{data}{phase} // '') eq 'acting' });
	my $next = start_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	$i->stop('KILL');
	left(60, $site);
	$i->start;
	$c = client($i);
	is(ended($c, $first->{runId}, 120)->{status}, 'failed',
	    'a run in it that a crash ended');
	$r = ended($c, $next->{runId}, 120);
	is($r->{status}, 'succeeded', 'and the one that waited goes on');
	is(said($r)->{text}, sprintf($both, 'two'), 'with all cookies');
	isnt(row($c, $session)->{expiresAt}, undef, 'it will expire again');
};

subtest 'nobody else' => sub {
	plan skip_all => 'not root' if $> != 0;
	pipe(my $in, my $out) or die;
	my $pid = fork() // die;
	if ($pid == 0) {
		$) = '65534 65534';
		POSIX::setgid(65534);
		POSIX::setuid(65534);
		my $o = client($i);
		syswrite $out, join ' ',
		    scalar @{ $o->call('session.list')->{sessions} },
		    start_in($o, $session, 'visitor')->{errorCode},
		    $o->call('session.close', { sessionId => $session,
			force => $true })->{errorCode};
		POSIX::_exit(0);
	}
	close $out;
	is(scalar <$in>, '0 SESSION_NOT_FOUND SESSION_NOT_FOUND',
	    'another user does not see, use or close it');
	waitpid $pid, 0;
	my $remote = BrowserTask::Client->new($i->client_sock,
	    trust => 'remote');
	is_deeply($remote->call('session.list')->{sessions}, [],
	    'nor does a remote client of the same one see it');
	is($remote->call('session.close', { sessionId => $session })
	    ->{errorCode}, 'SESSION_NOT_FOUND', 'or close it');
};

subtest 'with force' => sub {
	my $first = start_in($c, $session, 'visitor', urls => [ "$base/hang" ]);
	event($c, $first->{runId}, 120,
	    sub { ($_[0]{data}{phase} // '') eq 'acting' });
	my $next = start_in($c, $session, 'visitor', urls => [ "$base/who" ]);
	ok($c->call('session.close', { sessionId => $session,
		force => $true })->{success},
	    'a session that is used can be closed');
	is(get($c, $_->{runId})->{status}, 'canceled', 'its runs are canceled')
	    for $first, $next;
	ok(wait_until(60, sub { kept($i) eq '' && browsers($i) == 0 }),
	    'and nothing is left of it') or diag kept($i);
	release();
};
$i->stop;

subtest 'time' => sub {
	$i = instance('sessionIdleMs=1000', 'sessionTtlMs=600000',
	    'maxSessionsPerUid=2');
	$c = client($i);
	my @s = map { run_in($c, undef, 'keeper')->{sessionId} } 1 .. 3;
	my $list = sub { join ' ', map { $_->{sessionId} }
	    @{ $c->call('session.list')->{sessions} } };
	ok(wait_until(60, sub { $list->() eq "$s[2] $s[1]" }),
	    'of too many the one longest unused ends') or diag $list->();
	my $r = run_in($c, undef, 'keeper', urls => [ "$base/in/late" ]);
	ok(wait_until(60, sub { !row($c, $r->{sessionId})->{living} }),
	    'a browser that is idle is closed');
	ok(wait_until(60, sub { browsers($i) == 0 }), 'it is gone');
	my $who = run_in($c, $r->{sessionId}, 'visitor',
	    urls => [ "$base/who" ]);
	is(said($who)->{text}, sprintf($both, 'late'),
	    'the next run has all cookies');
	$i->stop;

	$i = instance('sessionTtlMs=1500');
	$c = client($i);
	$r = run_in($c, undef, 'keeper', urls => [ "$base/in/late" ]);
	is($r->{status}, 'succeeded', 'a session that soon expires');
	ok(wait_until(60, sub {
		!@{ $c->call('session.list')->{sessions} } }), 'is not listed');
	is(run_in($c, $r->{sessionId}, 'visitor')->{errorCode},
	    'SESSION_NOT_FOUND', 'nor used');
	ok(wait_until(60, sub { kept($i) eq '' && browsers($i) == 0 }),
	    'and nothing is left of it') or diag kept($i);
	$i->stop;
};

# The template that is for it, and a server that knows who is signed in.
subtest 'a login' => sub {
	my $demo = BrowserTask::Scenario::Site->new;
	$i = BrowserTask::Harness->new->start;
	$c = client($i);
	my $r = run_in($c, undef, 'login_keep_session',
		startUrl => $demo->url('/try/login'),
		credentials => { username => 'ada', password => 'secret-ada' });
	is($r->{result}{loginState}, 'authenticated', 'is kept')
	    or diag explain $r;
	my $title = sub {
		my $r = run_in($c, $_[0], 'batch_extract_pages',
			urls => [ $demo->url('/account/member') ]);
		return $r->{result}{items}[0]{title} // explain $r;
	};
	my $page = $title->($r->{sessionId});
	is($page, 'Your account', 'for runs of other templates');
	isnt($title->(undef), $page, 'but not for other sessions');
	$i->stop('KILL');
	left(60, $site, $demo->{pid});
	$i->start;
	$c = client($i);
	is($title->($r->{sessionId}), $page, 'after kill -9 of all, too');
	$i->stop;
	$demo->stop;
};

kill KILL => $site;
waitpid $site, 0;
undef $site;
is(left(60), '', 'no process is left');
done_testing();
