#!/usr/bin/perl
# Who may come in, and what they see: root, three ordinary users of which two
# are in the clients' group and one in the administrators', and a stranger.
# What belongs to another user does not exist, in any answer.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use IO::Socket::UNIX;
use JSON::PP ();
use Test::More;

plan skip_all => 'only root can be several users' if $> != 0;

use constant { ANN => 65501, BEN => 65502, EVE => 65503, ADA => 65504,
	CLIENTS => 65511, ADMINS => 65512 };
# Ben has the group as one among others only.
my %groups = ((ANN) => CLIENTS . ' ' . CLIENTS,
	(BEN) => BEN . ' ' . BEN . ' ' . CLIENTS,
	(EVE) => EVE . ' ' . EVE, (ADA) => ADA . ' ' . ADA . ' ' . ADMINS);
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $json = JSON::PP->new->canonical->utf8;
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(conf => 'clientGroup = "' . CLIENTS
    . "\"\nadminGroup = \"" . ADMINS . "\"\nmaxQueuedRunsPerUid = 3\n")->start;

sub as_user {
	my ($uid, $sub) = @_;
	my ($euid, $egid) = ($>, $));

	$) = $groups{$uid};
	$> = $uid;
	my $value = eval { $sub->() };
	my $error = $@;
	$> = $euid;
	$) = $egid;
	die $error if $error;
	return $value;
}

sub enter {
	my ($uid, $path, @how) = @_;
	return as_user($uid, sub {
		eval { BrowserTask::Client->new($path, @how) }
	});
}

# What comes back when these bytes are the first that are sent: 'closed', or
# what was answered, or why connecting failed.
sub knock {
	my ($uid, $path, $bytes) = @_;
	return as_user($uid, sub {
		my $s = IO::Socket::UNIX->new(Peer => $path) or return "$!";
		local $SIG{PIPE} = 'IGNORE';
		syswrite $s, $bytes;
		local $SIG{ALRM} = sub { die "no end\n" };
		alarm 20;
		my $n = sysread $s, my $answer, 100;
		alarm 0;
		return $n ? "$n bytes" : 'closed';
	});
}

my $hello = do {
	my $p = pack('CCC', 0x94, 0, 1) . BrowserTask::Client::pack_str('hello')
	    . pack('C', 0x82) . BrowserTask::Client::pack_str('proto')
	    . BrowserTask::Client::pack_value(1)
	    . BrowserTask::Client::pack_str('client')
	    . BrowserTask::Client::pack_value('x');
	pack('N', length $p) . $p;
};
my %first = (hello => $hello, garbage => "\xff" x 64, nothing => '',
	'a huge frame' => "\xff\xff\xff\xff");

my $root = BrowserTask::Client->new($i->admin_sock);
my ($client, $admin) = ($i->client_sock, $i->admin_sock);

sub refusals {
	my (%filter) = @_;
	my $n = 0;
	my $cursor;
	do {
		my $a = $root->call('audit.list', { limit => 1000, %filter,
			action => 'access.refuse',
			defined $cursor ? (cursor => $cursor) : () });
		for my $row (@{ $a->{rows} }) {
			$n += $row->{detail} =~ /^(\d+) times more/ ? $1 : 1;
		}
		$cursor = $a->{nextCursor};
	} while (defined $cursor);
	return $n;
}

subtest 'files' => sub {
	my $see = sub {
		my @st = stat $_[0];
		return sprintf '%o %d', $st[2] & 07777, $st[5];
	};
	is($see->($i->run_dir), '711 ' . CLIENTS, 'the directory');
	is($see->($client), '660 ' . CLIENTS, 'the socket of clients');
	is($see->($admin), '660 ' . ADMINS, 'the socket of administrators');
	is(knock(EVE, $client, $hello), 'Permission denied',
	    'a stranger cannot connect');
	is(knock(ANN, $admin, $hello), 'Permission denied',
	    'nor can a client to the socket of administrators');
	is(knock(ADA, $client, $hello), 'Permission denied',
	    'nor an administrator to that of clients, if not of its group');
	like(knock($_, $client, $hello), qr/bytes/, "uid $_ comes in")
	    for ANN, BEN;
	like(knock(ADA, $admin, $hello), qr/bytes/, 'an administrator, too');
};

# As if the files had other modes: the service looks for itself.
subtest 'doors' => sub {
	my $before = refusals();
	chmod 0666, $client, $admin;
	for my $name (sort keys %first) {
		is(knock(EVE, $client, $first{$name}), 'closed',
		    "a stranger with $name is sent away");
		is(knock($_, $admin, $first{$name}), 'closed',
		    "uid $_ with $name from the administrators'")
		    for ANN, BEN, EVE;
	}
	is(enter(EVE, $client), undef, 'there is no hello for a stranger');
	ok(enter(ADA, $client), 'an administrator may be a client');
	ok(enter(ANN, $client), 'the others are served meanwhile');
	chmod 0660, $client, $admin;
	ok(wait_until(60, sub { refusals() > $before }),
	    'each refusal is in the audit log');
	for my $uid (ANN, BEN, EVE) {
		cmp_ok(refusals(actor => "uid:$uid"), '>=', 1,
		    "... of uid $uid");
	}
};

my $ann = enter(ANN, $client);
my $ben = enter(BEN, $client);
my $ada = enter(ADA, $admin);
my $remote = enter(ANN, $client, trust => 'remote');
my $page = $site->url('/corpus/1');
my $run = batch($ann, [$page], { mode => 'sync', idempotencyKey => 'key' });
is($run->{status}, 'succeeded', 'a run of one of them')
    or diag explain $run;
my $id = $run->{runId};
my $artifact = $run->{artifactIds}[0];

# A queued one, and a session: nothing more is started.
$root->call('service.drain');
my $queued = batch($ann, [$page], { mode => 'async' })->{runId};

# The same question about what is another's and about what nobody has.
subtest 'nothing of others' => sub {
	(my $no_run = $id) =~ s/.{8}$/ZZZZZZZZ/;
	(my $no_artifact = $artifact) =~ s/.{8}$/ZZZZZZZZ/;
	my %calls = (
		'run.get' => { runId => 'RUN', include => 'output' },
		'run.cancel' => { runId => 'RUN' },
		'run.events' => { runId => 'RUN', timeoutMs => 1 },
		'run.follow' => { runId => 'RUN' },
		'run.unfollow' => { runId => 'RUN' },
		'artifact.list' => { runId => 'RUN' },
		'artifact.get' => { artifactId => 'ARTIFACT' },
	);
	my $try = sub {
		my ($method, $run, $artifact) = @_;
		my %p = %{ $calls{$method} };
		s/^RUN$/$run/, s/^ARTIFACT$/$artifact/ for values %p;
		my $text = $json->encode($ben->call($method, \%p));
		$text =~ s/\Q$run\E/ID/g;
		$text =~ s/\Q$artifact\E/ID/g;
		return $text;
	};
	for my $method (sort keys %calls) {
		is($try->($method, $_, $artifact),
		    $try->($method, $no_run, $no_artifact),
		    "$method: as if it were not there") for $id, $queued;
	}
	is($ann->call('run.get', { runId => $queued })->{status}, 'queued',
	    'and nothing has happened to it');
	my $list = $ben->call('run.list', {});
	is("@{[ scalar @{ $list->{runs} } ]} $list->{total}", '0 0',
	    'lists and their totals have nothing of it');
	is($ben->call('run.list', { $_->[0] => $_->[1] })->{total}, 0,
	    "... filtered by $_->[0]") for [ status => 'queued' ],
	    [ templateId => 'batch_extract_pages' ],
	    [ sessionId => $run->{sessionId} ];
	is($ben->call('run.list', { uid => ANN })->{errorCode},
	    'INVALID_PARAMETER', '... or by the other uid');
	is($ben->call('session.list', { uid => ANN })->{errorCode},
	    'INVALID_PARAMETER', 'nor has that of sessions');
	is($ben->call('session.close', { sessionId => $run->{sessionId} })
		->{errorCode}, 'SESSION_NOT_FOUND', 'a session');
	is($ben->call('run.submit', { templateId => 'batch_extract_pages',
		inputs => { urls => [$page] }, sessionId => $run->{sessionId} })
		->{errorCode}, 'SESSION_NOT_FOUND', '... nor to run in it');
	is($ben->call('audit.list', {})->{errorCode}, 'INVALID_PARAMETER',
	    'the audit log is not for clients');
	is($ben->call('audit.verify', {})->{errorCode}, 'INVALID_PARAMETER',
	    '... in no way');
	is($ben->call('service.drain', {})->{errorCode},
	    'TRUST_LEVEL_NOT_ALLOWED', 'nor are orders');
	ok(wait_until(60, sub {
		@{ $root->call('audit.list', { action => 'access.refuse',
			actor => 'uid:' . BEN, runId => $_ })->{rows} };
	}), 'the audit log has who asked for it') for $id, $queued;
};

subtest 'totals' => sub {
	my $p = $ben->call('profile.get');
	is("$p->{queuedRuns} $p->{activeRuns} $p->{sessions}", '0 0 0',
	    'no load of others');
	is_deeply([ grep { $_ } values %{ $p->{runs} } ], [], 'no runs');
	ok(!exists $p->{$_}, "no $_") for qw(clients artifactBytes
	    livingSessions storeBytes stateDir);
	is($ann->call('profile.get')->{queuedRuns}, 1, 'one\'s own are there');
	my $own = batch($ben, [$page], { mode => 'async',
		idempotencyKey => 'key' });
	ok(!$own->{deduplicated}, 'a key is everybody\'s own');
	isnt($own->{runId}, $id, '... with a run of its own');
	is($ben->call('run.get', { runId => $own->{runId} })->{queuePosition}, 1,
	    'the position in the queue counts one\'s own runs');
	is($root->call('run.get', { runId => $own->{runId} })->{queuePosition},
	    2, 'all of them for those who see all');
	$ben->call('run.cancel', { runId => $own->{runId} });
};

subtest 'administrators' => sub {
	ok($ada->{hello}{admin}, 'one is told so');
	is($ada->call('run.get', { runId => $id })->{status}, 'succeeded',
	    'sees any run');
	cmp_ok($ada->call('run.list', {})->{total}, '>=', 3, 'lists all');
	is($ada->call('profile.get')->{queuedRuns}, 1, 'and their number');
	ok($ada->call('audit.verify', {})->{sound}, 'and checks the log');
	my $lowered = enter(ADA, $admin, trust => 'remote');
	is($lowered->call('run.get', { runId => $id })->{errorCode},
	    'RUN_NOT_FOUND', 'not when it says that it is remote');
	is($lowered->call('audit.list', {})->{errorCode}, 'INVALID_PARAMETER',
	    '... and it reads no log');
};

subtest 'a share of the queue' => sub {
	my @own = map { batch($ben, [$page], { mode => 'async' }) } 1 .. 4;
	is(scalar(grep { $_->{runId} && !$_->{errorCode} } @own), 3,
	    'so many wait');
	error_is($own[3], 'EXECUTION_ERROR', 'QUEUE_FULL', 'one more');
	like($own[3]{message}, qr/uid 65502 .*maxQueuedRunsPerUid/,
	    'which names the limit');
	ok(batch($ann, [$page], { mode => 'async' })->{runId},
	    'others are not affected');
	my @many = map { $ben->send('run.submit', {
		templateId => 'batch_extract_pages',
		inputs => { urls => [$page] },
		options => { mode => 'async' } }) } 1 .. 5;
	is(scalar(grep { $ben->answer($_)->{errorCode} } @many), 5,
	    'also not with many at a time');
	$ben->call('run.cancel', { runId => $own[0]{runId} });
	@many = map { $ben->send('run.submit', {
		templateId => 'batch_extract_pages',
		inputs => { urls => [$page] },
		options => { mode => 'async' } }) } 1 .. 5;
	is(scalar(grep { !$ben->answer($_)->{errorCode} } @many), 1,
	    'a place that is free is taken once');
	$ben->call('run.cancel', { runId => $_->{runId} })
	    for @{ $ben->call('run.list', { status => 'queued' })->{runs} };
};

subtest 'shared runs' => sub {
	$i->configure('clientGroup = "' . CLIENTS . "\"\nadminGroup = \""
	    . ADMINS . "\"\nshareRuns = yes\n");
	kill 'HUP', $i->{pid};
	ok(wait_until(60, sub {
		!$ben->call('run.get', { runId => $id })->{errorCode};
	}), 'users see each other\'s runs');
	is(length artifact($ben, $artifact), length artifact($ann, $artifact),
	    'and their artifacts');
	ok($ben->call('run.list', {})->{total} > 1, 'lists have them');
	is($ben->call('run.list', { uid => ANN })->{runs}[0]{uid}, ANN,
	    'also by uid');
	is($ben->call('run.cancel', { runId => $queued })->{errorCode},
	    'TRUST_LEVEL_NOT_ALLOWED', 'but do not end them');
	is($ann->call('run.get', { runId => $queued })->{status}, 'queued',
	    'in fact');
	is($remote->call('run.list', { uid => BEN })->{errorCode},
	    'INVALID_PARAMETER', 'one that says it is remote sees its own');
	my ($x, $y) = map { batch($_, [$page],
		{ mode => 'async', idempotencyKey => 'ours' }) } $ann, $ben;
	is($y->{runId}, $x->{runId}, 'keys are shared, too');
	ok($y->{deduplicated}, '... which is said');
	is($ben->call('session.list', { uid => ANN })->{errorCode},
	    'INVALID_PARAMETER', 'sessions are not');
};

subtest 'no longer shared' => sub {
	$ben->call('run.follow', { runId => $queued });
	$i->configure('clientGroup = "' . CLIENTS . "\"\nadminGroup = \""
	    . ADMINS . "\"\n");
	kill 'HUP', $i->{pid};
	ok($ben->closed(60), 'who follows a run of another is cut off');
	$ben = enter(BEN, $client);
	is($ben->call('run.get', { runId => $queued })->{errorCode},
	    'RUN_NOT_FOUND', '... and does not see it any more');
	is($ann->call('run.get', { runId => $queued })->{status}, 'queued',
	    'others stay');
};

subtest 'the end of a group' => sub {
	$i->configure('adminGroup = "' . ADMINS . "\"\n");
	kill 'HUP', $i->{pid};
	ok(wait_until(60, sub { knock(ANN, $client, $hello) !~ /bytes/ }),
	    'nobody of it comes in any more');
	is(sprintf('%o', (stat $i->run_dir)[2] & 07777), '750',
	    'the directory is the other group\'s');
	like(knock(ADA, $admin, $hello), qr/bytes/, 'which does');
	ok($ann->closed(60), 'who was in is put out');
	ok($ada->call('profile.get')->{pid}, 'but not those who may');
	ok($root->call('audit.verify', {})->{sound}, 'the log is sound');
};
is($i->stop, 0, 'stopped');
is(left(60, $site->{pid}), '', 'and nothing is left');
done_testing();
