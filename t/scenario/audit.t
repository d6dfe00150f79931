#!/usr/bin/perl
# The audit log of the real service: every action by a real condition, what the
# check says of a log that was tampered with in every way, and that no act that
# was acknowledged is missing after kill -9.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time sleep);

my ($build, $top) = ($ENV{builddir} // '.', $ENV{srcdir} // '.');
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);
my $site = BrowserTask::Scenario::Site->new;
my $page = $site->url('/corpus/1');
my $settings = "maxQueuedRuns = 5\n";
my $i = BrowserTask::Harness->new(conf => $settings)->start;
my ($c, $admin);
my %seen;

sub enter {
	$c = client($i);
	$admin = BrowserTask::Client->new($i->admin_sock);
}

# All rows that match, the oldest first.
sub rows {
	my (%filter) = @_;
	my (@rows, $cursor);
	do {
		my $a = $admin->call('audit.list', { %filter, limit => 100,
			defined $cursor ? (cursor => $cursor) : () });
		die "$a->{message}\n" if $a->{errorCode};
		unshift @rows, reverse @{ $a->{rows} };
		$cursor = $a->{nextCursor};
	} while (defined $cursor);
	$seen{ $_->{action} } = 1 for @rows;
	return @rows;
}

# The rows of that action, once there are so many.
sub told {
	my ($action, $n, %filter) = @_;
	my @rows;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_until(60, sub {
		@rows = rows(action => $action, %filter);
		return @rows >= $n;
	}), "$action is told") or diag explain \@rows;
	is(scalar @rows, $n, "... $n times") or diag explain \@rows;
	return @rows;
}

sub verify {
	my (@more) = @_;
	my ($status, $out, $err) = $i->ctl('audit', 'verify', @more);
	return ($status >> 8, "$out$err");
}

enter();
my $me = "uid:" . ($i->{drop} ? 0 : $>);

subtest 'runs' => sub {
	my $run = batch($c, [$page], { mode => 'sync', idempotencyKey => 'k' });
	is($run->{status}, 'succeeded', 'a run') or diag explain $run;
	my $id = $run->{runId};
	my ($row) = told('run.submit', 1);
	is($row->{runId}, $id, 'with its id');
	is($row->{actor}, $me, 'its actor');
	like($row->{detail}, qr/^batch_extract_pages [\d.]+, sync, local$/,
	    'and what it is');
	ok(abs($row->{createdAt} - $run->{createdAt}) < 5000, 'its time');
	($row) = told('run.end', 1);
	is("$row->{actor} $row->{runId} $row->{detail}",
	    "service $id succeeded", 'the end is the service\'s');
	batch($c, [$page], { mode => 'async', idempotencyKey => 'k' })
	    for 1 .. 3;
	told('run.repeat', 1, runId => $id);
	$c->call('run.submit', { templateId => 'nowhere', inputs => {} })
	    for 1 .. 4;
	($row) = told('run.refuse', 1);
	is($row->{detail}, 'TEMPLATE_NOT_FOUND',
	    'a refusal has the code and nothing that was sent');

	my ($big) = sort { $b->{totalSize} <=> $a->{totalSize} }
	    @{ $c->call('artifact.list', { runId => $id })->{artifacts} };
	$c->call('artifact.get', { artifactId => $big->{artifactId},
		offset => $_, limit => 1 }) for 0 .. 9;
	($row) = told('artifact.read', 1);
	like($row->{detail}, qr/^$big->{artifactId}, $big->{kind}$/,
	    'a reader is told once, not for each part');
	is($row->{runId}, $id, 'with the run');
	artifact(client($i), $big->{artifactId});
	told('artifact.read', 2);
};

subtest 'orders' => sub {
	$admin->call('service.drain');
	my ($row) = told('service.drain', 1);
	is($row->{actor}, $me, 'with who gave it');
	my @id = map { batch($c, [$page], { mode => 'async' })->{runId} }
	    1 .. 5;
	error_is(batch($c, [$page], { mode => 'async' }), 'EXECUTION_ERROR',
	    'QUEUE_FULL', 'one too many');
	is((told('run.refuse', 2))[1]{detail},
	    'QUEUE_FULL, batch_extract_pages', 'is told with its code');
	ok($c->call('run.cancel', { runId => $id[0] })->{success},
	    'canceled in the queue');
	told('run.cancel', 1, runId => $id[0]);
	is((told('run.end', 1, runId => $id[0]))[0]{detail},
	    'canceled, RUN_CANCELED', 'with how it ended');
	$c->call('run.cancel', { runId => $_ }) for @id[ 1 .. 4 ];
	$admin->call('service.resume');
	told('service.resume', 1);
	my $slow = batch($c, [ map { $site->url("/slow?$_") } 1 .. 5 ],
	    { mode => 'async' })->{runId};
	event($c, $slow, 120, sub { $_[0]{type} eq 'run_started' });
	ok($c->call('run.cancel', { runId => $slow })->{success},
	    'canceled while it ran');
	($row) = told('run.cancel', 1, runId => $slow);
	is("$row->{actor} $row->{detail}", "$me while active",
	    'with who wanted it');
};

subtest 'sessions' => sub {
	my $r = task($c, 'login_keep_session', {
		startUrl => $site->url('/try/login'),
		credentials => { username => 'ada', password => 'canary-ada' } });
	is($r->{status}, 'succeeded', 'a session') or diag explain $r;
	$c->call('session.share', { sessionId => $r->{sessionId} });
	my ($row) = told('session.share', 1);
	is("$row->{actor} $row->{detail}", "$me $r->{sessionId}, shared",
		'shared');
	$c->call('session.close', { sessionId => $r->{sessionId} });
	($row) = told('session.close', 1);
	is("$row->{actor} $row->{detail}", "$me $r->{sessionId}",
	    'with who closed which');
	ok(!grep({ ($_->{detail} // '') =~ /canary|\Q$page\E/ } rows()),
	    'no inputs, secrets or addresses are in any row');
};

subtest 'what is refused' => sub {
	is($c->call('audit.list', {})->{errorCode}, 'INVALID_PARAMETER',
	    'the clients\' socket shows no log');
	$c->call('audit.verify', {}) for 1 .. 5;
	my @rows = told('access.refuse', 2);
	is(join(' ', map { $_->{detail} } @rows), 'audit.list audit.verify',
	    'and what is alike is told once');
};

subtest 'hosts' => sub {
	my $id = batch($c, [$page], { mode => 'sync',
		forbiddenDomains => ['127.0.0.1'] })->{runId};
	my ($row) = told('egress.refuse', 1);
	is($row->{runId}, $id, 'with the run');
	like($row->{detail}, qr/^127\.0\.0\.1:\d+, forbidden 127\.0\.0\.1$/,
	    'the host and the rule');
};

subtest 'settings' => sub {
	$i->configure("${settings}maxConcurrentRuns = 2\n");
	kill 'HUP', $i->{pid};
	is((told('settings.reload', 1))[0]{detail}, 'maxConcurrentRuns = 2',
	    'with its value');
};

subtest 'browsertaskctl' => sub {
	my @all = rows();
	my ($status, $out, $err) = $i->ctl('audit', '--all');
	is($status, 0, 'lists');
	my @lines = split /\n/, $out;
	is(scalar @lines, @all + 1, 'all rows with --all');
	like($lines[0], qr/^ *ROW  TIME +ACTOR +ACTION +ABOUT$/, 'under titles');
	like($lines[1], qr/^ *$all[-1]{id} /, 'the newest first');
	(undef, $out) = $i->ctl('audit', '--limit', 3);
	is(scalar(split /\n/, $out), 4, '--limit');
	(undef, $out) = $i->ctl('--json', 'audit', '--action', 'run.submit',
		'--all');
	is(scalar(split /\n/, $out), scalar(rows(action => 'run.submit')),
	    '--action');
	(undef, $out) = $i->ctl('audit', '--actor', 'service', '--action',
		'service.start');
	is(scalar(split /\n/, $out), 2, '--actor');
	(undef, $out) = $i->ctl('audit', '--run', $all[1]{runId}, '--all');
	is((() = $out =~ /\Q$all[1]{runId}\E/g), scalar(split /\n/, $out) - 1,
	    '--run');
	(undef, $out, $err) = $i->ctl('audit', '--until', '2020-01-01');
	is("$out$err", "no rows\n", '--until');
	(undef, $out) = $i->ctl('audit', '--since', '1h', '--all');
	is(scalar(split /\n/, $out), @all + 1, '--since');
	($status, $out, $err) = $i->ctl('audit', '--action', 'nonsense');
	is($status >> 8, 2, 'an unknown action');
	like($err, qr/run\.submit.*audit\.trim/, '... and which there are');
	my ($rc, $said) = verify();
	is($rc, 0, 'verify: sound');
	like($said, qr/^the audit log is sound: \d+ rows$/m, '... it says');
	my ($noted) = $said =~ /^last row (\d+:[0-9a-f]{64})$/m;
	is((verify('--noted', $noted))[0], 0, '... with a row that was noted');
	(my $wrong = $noted) =~ tr/0-9a-f/1-9a-f0/;
	isnt((verify('--noted', $wrong))[0], 0, '... or another one');
	(my $hash = $noted) =~ s/.$/x/;
	is((verify('--noted', $hash))[0], 2, '... or nonsense');
};

subtest 'stop and start' => sub {
	my ($art) = map { $_->{detail} =~ /^(art_\w+)/ }
	    rows(action => 'artifact.read');
	$c = client($i);
	$c->call('artifact.get', { artifactId => $art });
	is($i->stop, 0, 'stopped, with a row that waits');
	my ($row) = $i->log =~ /.*audit: the last row is (\d+:[0-9a-f]{64})$/ms;
	ok($row, 'the last row is in the system log');
	$i->start;
	enter();
	told('artifact.read', 3);
	told('service.stop', 1);
	is((rows(action => 'access.refuse'))[-1]{detail},
	    '4 times more: audit.verify', 'what was counted is told');
	told('service.start', 2);
	is((verify('--noted', $row))[0], 0, 'and was the last');
};

# Without the service: (exit status, what it says).
sub offline {
	my (@more) = @_;
	my $s = "$build/supervisord/supervisord";
	my $said = qx('$s' -A -s '@{[ $i->state_dir ]}' @more 2>&1);
	return ($? >> 8, $said);
}

# Tampering.

my $store;

sub tamper {
	my (@order) = @_;
	system 'cp', '-a', $store, $i->state_dir . '/store';
	my $rc = system "$build/t/scenario/audittamper", $i->state_dir, @order;
	# What the helper made belongs to who runs the test.
	system 'chown', '-R', '--reference', $store, $i->state_dir . '/store';
	return $rc == 0;
}

# Tampers with a fresh copy, and the check finds it.
sub found {
	my ($row, $what, $name, @order) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(tamper(@order), "$name: done");
	my ($code, $text) = offline();
	is($code, 1, '... a check without the service finds it');
	$i->start;
	enter();
	my ($rc, $said) = verify();
	is($rc, 1, '... exit status');
	like($said, qr/NOT sound: row $row $what/, '... and the row');
	my $run = $c->call('run.list', { limit => 1 });
	ok(!$run->{errorCode}, '... while the service serves');
	rows();
	$i->stop;
	system 'rm', '-rf', $i->state_dir . '/store';
}

subtest 'tampering' => sub {
	my $n = (rows())[-1]{id};
	my $k = int($n / 2);
	my ($code, $text) = offline();
	like($text, qr/^supervisord: the service runs: /,
	    'the check by itself leaves a running service alone');
	is($code, 74, '... with an exit status');
	is($i->stop, 0, 'stopped');
	($code, $text) = offline();
	is($code, 0, 'it checks a store that nobody has open');
	like($text, qr/^the audit log is sound: \d+ rows$/m, '... and says so');
	# service.stop was written since.
	$n++;
	my ($noted) = (sort { length $a <=> length $b || $a cmp $b }
	    $i->log =~ /audit: the last row is (\d+:[0-9a-f]{64})$/mg)[-1];
	like($noted, qr/^$n:/, 'the last row is noted');
	is((offline('-n', $noted))[0], 0, '... and is there');
	(my $other = $noted) =~ tr/0-9a-f/0-9b-fa/;
	is((offline('-n', $other))[0], 1, '... no other one');
	is((offline('-n', 'x'))[0], 64, '... nor nonsense');
	$store = $i->state_dir . '/store.kept';
	rename $i->state_dir . '/store', $store or die "$store: $!";
	found($k, 'was changed', 'a row with another byte', 'edit', $k);
	found($k + 1, 'does not follow', 'also with a hash of its own',
	    'forge', $k);
	found($k, 'is missing', 'a row that is not there', 'delete', $k);
	found(1, 'is missing', 'nor the first', 'delete', 1);
	found($n, 'is missing', 'nor the last', 'delete', $n);
	found($k, 'was changed', 'rows that changed places', 'swap', $k, $k + 2);
	found($n + 1, 'tells that the log lost its end', 'no end of the log',
	    'forget');

	ok(tamper('cut', $n - 3), 'the end cut off with all that tells of it');
	$i->start;
	enter();
	my $behind = $n - 3;
	# Until the record has rows of this life, the one it has is missing.
	my $told = qr/row (?:$behind tells that an older copy|\d+ is missing)/;
	my ($rc, $said) = verify();
	is($rc, 1, '... is seen, since it was recorded outside');
	like($said, $told, '... and a row tells so');
	($rc, $said) = verify('--noted', $noted);
	is($rc, 1, '... also by who has a row from the system log');
	like($said, $told, '... which is gone');
	$i->stop;
	system 'rm', '-rf', $i->state_dir . '/store';
	system 'cp', '-a', $store, $i->state_dir . '/store';
	# As who puts a copy back in earnest.
	unlink $i->state_dir . '.audit/last' or die "the record: $!";
	$i->start;
	enter();
	is((verify('--noted', $noted))[0], 0, 'the log itself is sound');
};

# Retention.
subtest 'old rows' => sub {
	my $n = rows();
	$i->configure("auditTtlMs = 1000\n");
	kill 'HUP', $i->{pid};
	ok(wait_until(60, sub { rows() < $n / 2 }), 'old rows go');
	cmp_ok(scalar(rows(action => 'audit.trim')), '>=', 1,
	    'a row tells of that');
	my ($rc, $said) = verify();
	is($rc, 0, 'the rest is sound') or diag $said;
	like($said, qr/^rows before \d+ were old/m, 'and says so');
	$i->configure('');
	kill 'HUP', $i->{pid};
	is($i->stop, 0, 'stopped');
};

# The table has no action that nothing tells: others than these are told where
# their own tests are.
subtest 'every action' => sub {
	my %elsewhere = map { $_ => 1 }
	    qw(secret.use secret.refuse protection.waive store.check store.backup
	    store.restore service.restart);
	open(my $fh, '<', "$top/model/audit_actions.def") or die "actions: $!";
	my @all = do { local $/; <$fh> } =~ /^ACTION\(\w+, "([\w.]+)"/mg;
	cmp_ok(scalar @all, '>', 10, 'there are actions');
	ok($seen{$_} || $elsewhere{$_}, "$_ was told") for @all;
};

# kill -9 while submissions are acknowledged: each one has its row.
subtest 'crashes' => sub {
	my $j = BrowserTask::Harness->new(
	    conf => "maxQueuedRuns = 10000\n")->start;
	BrowserTask::Client->new($j->admin_sock)->call('service.drain');
	my (%sent, $lost);
	for my $round (1 .. 3) {
		my $d = client($j);
		my $seen = 0;
		my $end = time + 0.2 + rand 0.3;
		my @seq;
		eval {
			while (time < $end || $seen < 20) {
				push @seq, $d->send('run.submit', {
					templateId => 'batch_extract_pages',
					inputs => { urls => [$page] },
					options => { mode => 'async' } })
				    for 1 .. 4;
				for (1 .. 4) {
					my $a = $d->answer(shift @seq);
					$sent{ $a->{runId} } = 1
					    if $a->{runId};
					$seen++;
				}
			}
			push @seq, $d->send('run.submit', {
				templateId => 'batch_extract_pages',
				inputs => { urls => [$page] },
				options => { mode => 'async' } }) for 1 .. 8;
			my ($sup) = grep { $_->{cmd} =~ /supervisord/ }
			    tree($j->{pid});
			kill 'KILL', $sup->{pid};
			for (@seq) {
				my $a = $d->answer($_);
				$sent{ $a->{runId} } = 1 if $a->{runId};
			}
		};
		ok(wait_until(60, sub {
			eval { client($j)->call('profile.get')->{pid} };
		}), "round $round: it is back");
	}
	$admin = BrowserTask::Client->new($j->admin_sock);
	my %told;
	$told{ $_->{runId} }++ for rows(action => 'run.submit');
	cmp_ok(scalar(keys %sent), '>=', 60, 'submissions were acknowledged');
	is_deeply([ grep { !$told{$_} } keys %sent ], [],
	    'each has a row: ' . keys(%sent) . ' of ' . keys %told);
	is_deeply([ grep { $_ != 1 } values %told ], [], 'and only one');
	my $runs = $admin->call('run.list', { limit => 1 })->{total};
	is(scalar keys %told, $runs, 'there are as many runs as rows');
	ok($admin->call('audit.verify', {})->{sound}, 'the log is sound');
	is($j->stop, 0, 'stopped');
};
is(left(60, $site->{pid}), '', 'nothing is left');
done_testing();
