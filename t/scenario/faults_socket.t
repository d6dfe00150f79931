#!/usr/bin/perl
# What clients may do to the service: every message cut at every byte and split
# at every place, garbage, answers that nobody reads, a thousand clients. The
# others notice nothing, the next run succeeds, no process is left. SEED repeats
# a run.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Size qw(seeded);
use BrowserTask::Scenario;
use IO::Handle;
use JSON::PP ();
use Test::More;
use Time::HiRes qw(time);

use constant CLIENTS => 1000;

my $srcdir = $ENV{srcdir} // '.';
seeded();

# More than a thousand connections of this test's own.
system('prlimit', '--pid', $$, '--nofile=4096:') == 0
    or note 'the number of descriptors stays as it is';

my $site = BrowserTask::Scenario::Site->new;
my $json = JSON::PP->new->canonical->allow_nonref->allow_blessed;
my $i = BrowserTask::Harness->new(settings => [ 'maxClients=' . CLIENTS,
	'maxClientsPerUid=4096' ])->start;
my $c = client($i);
my $pid = $c->call('profile.get')->{pid};
my $no_run = 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV';
my $no_artifact = 'art_01ARZ3NDEKTSV4RRFFQ69G5FAV';

# One of each, none of which does anything. Every field is there.
my %call = (
	'hello' => { proto => 1, client => 'cut', trust => 'remote',
		label => 'cut' },
	'template.list' => { templateId => 'nowhere' },
	'template.check' => { data => 'text, not bytes' },
	'run.submit' => { templateId => 'nowhere', templateVersion => 'v1',
		sessionId => 'sess_1', inputs => { urls => [] },
		options => { mode => 'async' }, maxBytes => 4096,
		wait => JSON::PP::false },
	'run.get' => { runId => $no_run, include => 'output',
		maxBytes => 4096 },
	'run.list' => { status => 'failed', templateId => 'nowhere',
		sessionId => 'sess_01ARZ3NDEKTSV4RRFFQ69G5FAV', uid => $>,
		since => 1, until => 2, cursor => 'x', limit => 3,
		offset => 1, maxBytes => 4096 },
	'run.cancel' => { runId => $no_run },
	'run.events' => { runId => $no_run, afterSeq => 1, limit => 2,
		timeoutMs => 3, maxBytes => 4096 },
	'run.follow' => { runId => $no_run, afterSeq => 1 },
	'run.unfollow' => { runId => $no_run },
	'artifact.get' => { artifactId => $no_artifact, offset => 1,
		limit => 2 },
	'artifact.list' => { runId => $no_run },
	'session.list' => { limit => 1, uid => $>, cursor => 'x' },
	'session.close' => { sessionId => 'sess_01ARZ3NDEKTSV4RRFFQ69G5FAV',
		force => JSON::PP::true },
	'session.share' => { sessionId => 'sess_01ARZ3NDEKTSV4RRFFQ69G5FAV',
		shared => JSON::PP::false },
	'profile.get' => {},
	'audit.list' => { since => 1, until => 2, actor => 'service',
		action => 'run.end', runId => $no_run, cursor => 'x',
		limit => 2 },
	'audit.verify' => { noted => '1:aa' },
	'store.check' => {},
	'store.backup' => {},
	'service.drain' => {},
	'service.resume' => {},
	'service.restart' => {},
);

sub body {
	my ($method, $params) = @_;
	return pack('CCC', 0x94, 0, 7) . BrowserTask::Client::pack_str($method)
	    . pack('C', 0x80 | keys %$params)
	    . join '', map { BrowserTask::Client::pack_str($_)
		. BrowserTask::Client::pack_value($params->{$_}) }
	    sort keys %$params;
}

sub frame { return pack('N', length $_[0]) . $_[0] }

sub raw { return BrowserTask::Client->new($i->client_sock, raw => 1) }

# Says hello unless it is hello that is tried.
sub fresh {
	my ($method) = @_;
	return $method eq 'hello' ? raw() : client($i);
}

# What does not change from one call to the next.
sub gist {
	my ($answer) = @_;
	return $json->encode($answer) if $answer->{errorCode};
	return join ' ', sort keys %$answer;
}

sub alive {
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($c->call('profile.get')->{pid}, $pid, "$name: nobody else noticed");
}

# Only they are left that are meant to be.
sub emptied {
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_until(60, sub { $c->call('profile.get')->{clients} == 1 }),
		"$name: their connections are over");
}

sub next_succeeds {
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $run = batch($c, [ $site->url('/corpus/1') ], { mode => 'async' });
	my $r = ended($c, $run->{runId}, 120);
	is($r->{status}, 'succeeded', "$name: the next run succeeds")
	    or diag explain $r;
}

# A sanitizer keeps what was freed for a while.
my $times = do {
	open(my $fh, '<', "/proc/$pid/status");
	my ($kib) = map { /^VmSize:\s+(\d+)/ ? $1 : () } <$fh>;
	$kib > 1 << 30 ? 10 : 1;
};

sub resident_kib {
	open(my $fh, '<', "/proc/$pid/status") or return 0;
	my ($kib) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$fh>;
	return $kib;
}

my @admins; # requests on admin.sock only
subtest 'every message is tried' => sub {
	open(my $fh, '<', "$srcdir/ipc/msg.def") or die "msg.def: $!\n";
	my $def = do { local $/; <$fh> };
	my %key = $def =~ /^KEY\((\w+),\s*"(\w+)"\)/mg;
	my %in = $def =~ /^MSG\((\w+),\s*"([\w.]+)",\s*REQ,\s*IN,/mg;
	my %fields = map { $_ => [] } values %in;
	while ($def =~ /^FIELD\((\w+),\s*(\w+),/mg) {
		push @{ $fields{ $in{$1} } }, $key{$2} if $in{$1};
	}
	is_deeply({ map { $_ => [ sort keys %{ $call{$_} } ] } keys %call },
	    { map { $_ => [ sort @{ $fields{$_} } ] } keys %fields },
	    'as the table has them, with every field');
	@admins = $def =~ /^MSG\(\w+,\s*"([\w.]+)"[^"]*IPC_ADMIN_ONLY/mg;
	cmp_ok(scalar @admins, '>', 3, 'some are for administrators');
};

# The sender closes in the middle: no answer, and no trace of it.
subtest 'cut at every byte' => sub {
	my $answers = 0;
	my $open = 0;
	my $n = 0;
	for my $method (sort keys %call) {
		my $frame = frame(body($method, $call{$method}));
		for my $length (0 .. length($frame) - 1) {
			my $cut = fresh($method);
			$cut->bytes(substr $frame, 0, $length);
			shutdown $cut->{sock}, 1;
			$cut->closed or $open++;
			$answers += keys %{ $cut->{answers} };
			$n++;
		}
	}
	is($answers, 0, "$n messages cut short: none is answered");
	is($open, 0, 'every connection ends');
	alive('cut');
};

# A frame of the right length with less in it than it should have.
subtest 'too little in a frame' => sub {
	my ($good, $bad, $n) = (0, 0, 0);
	for my $method (sort keys %call) {
		my $body = body($method, $call{$method});
		for my $length (0 .. length($body) - 1) {
			my $cut = fresh($method);
			$cut->bytes(frame(substr $body, 0, $length));
			shutdown $cut->{sock}, 1;
			$cut->closed or $bad++;
			$good++ for grep { !$_->{errorCode} }
			    values %{ $cut->{answers} };
			$n++;
		}
	}
	is($good, 0, "$n bodies cut short: none is taken for a call");
	is($bad, 0, 'every connection ends');
	alive('too little');
};

# The first part is there when the loop has answered somebody else.
subtest 'split at every place' => sub {
	# Obeyed, it would be another process: t/scenario/restart.t.
	for my $method (grep { $_ ne 'service.restart' } sort keys %call) {
		my $frame = frame(body($method, $call{$method}));
		my $whole = fresh($method);
		$whole->bytes($frame);
		my $want = gist($whole->answer(7));
		my @other;
		my $split = fresh($method);
		for my $at (1 .. length($frame) - 1) {
			$split = raw() if $method eq 'hello' && $at > 1;
			$split->bytes(substr $frame, 0, $at);
			$c->call('profile.get');
			$split->bytes(substr $frame, $at);
			my $got = gist($split->answer(7));
			push @other, "$at: $got" if $got ne $want;
		}
		is_deeply(\@other, [], "$method: as whole");
	}
	alive('split');
};

subtest 'refusals' => sub {
	my $e = $c->call('run.fly', {});
	error_is($e, 'INVALID_PARAMETER', 'UNKNOWN_METHOD', 'unknown method');
	is($e->{message}, 'unknown method run.fly', 'said so');
	is($e->{recoverHint}, 'Use a method of the control protocol.', 'advice');
	$e = $c->call('run.get', { runId => 7 });
	error_is($e, 'INVALID_PARAMETER', 'INVALID_PARAMETER', 'wrong type');
	like($e->{message}, qr/runId/, 'names it');
	is($e->{recoverHint}, "Correct what the message names; types and "
		. "ranges of a template's inputs are in its schema.",
	    'advice that is right for any method');
	for my $method (@admins) {
		$e = $c->call($method, $call{$method});
		error_is($e, 'INVALID_PARAMETER', 'NOT_PERMITTED', $method);
		is($e->{message}, "$method is for administrators, on admin.sock",
		    'says where');
		is($e->{recoverHint}, 'Ask on admin.sock, as root, the '
			. "service's user or a member of adminGroup.", 'advice');
	}
	$e = $c->call('run.submit', { templateId => 'batch_extract_pages',
		inputs => [] });
	error_is($e, 'INVALID_PARAMETER', 'INVALID_PARAMETER', 'no object');
	is($e->{message}, '/inputs: expected an object', 'names it');
	alive('refused');
};

# What browsertask-control(7) says under Errors of messages that are none.
subtest 'refused, or the end' => sub {
	my $get = sub { pack('CCC', 0x94, 0, 7)
		. BrowserTask::Client::pack_str('run.get') . $_[0] };
	my $key = sub { BrowserTask::Client::pack_str($_[0]) . "\xa1x" };
	my $refused = client($i);
	my $said = sub {
		$refused->bytes(frame($_[0]));
		return delete($refused->{answers}{7}) // $refused->answer(7);
	};
	my $e = $said->(body('run.get', { runId => $no_run,
		padding => 'x' x 5000 }));
	error_is($e, 'INVALID_PARAMETER', 'INVALID_PARAMETER', 'too long');
	is($e->{message}, 'run.get: the message is too long', 'is told so');
	$e = $said->($get->(pack('Cn', 0xde, 65)
		. join '', map { $key->("k$_") } 1 .. 65));
	error_is($e, 'INVALID_PARAMETER', 'INVALID_PARAMETER', 'too many keys');
	is($e->{message}, 'run.get: too many fields', 'is told so');
	is($refused->call('profile.get')->{pid}, $pid, 'and may go on');
	my %ends = ('a second hello' => body('hello', $call{hello}),
		'a key twice' => $get->("\x82" . $key->('runId') x 2),
		'an unknown key twice' => $get->("\x82" . $key->('k') x 2));
	for my $name (sort keys %ends) {
		my $ended = client($i);
		my $before = keys %{ $ended->{answers} };
		$ended->bytes(frame($ends{$name}));
		ok($ended->closed, "$name ends the connection");
		is(keys %{ $ended->{answers} }, $before, '... without an answer');
	}
	alive('refused or ended');
};

subtest 'garbage' => sub {
	my $before = resident_kib();
	my @crafted = (
		pack('N', 0),                        # an empty frame
		pack('N', 0xffffffff),               # without end
		pack('N', (8 << 20) + 1),            # above the limit
		frame("\x91" x 64),                  # nested too deep
		frame("\xdd\xff\xff\xff\xff"),       # array of 4294967295
		frame("\xdf\xff\xff\xff\xff"),       # map of as many
		frame("\xdb\xff\xff\xff\xff"),       # string of as many bytes
		frame("\xc1"),                       # never used
		frame("\xc7\xff\x01" . 'x' x 255),   # extension
		frame("\x94\x00\x01\xa5hello\x80x"), # something behind it
		frame("\x94\x00\x01\xa5hello\xc0"),  # params that are none
		frame("\x93\x02\xa5event\x80"),      # a note of the server's
		frame("\x94\x01\x01\xc0\xc0"),       # an answer nobody asked for
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"{\"method\":\"hello\"}\n",
	);
	my $random = sub {
		return join '', map { chr int rand 256 } 1 .. 1 + int rand 600;
	};
	# Right but for some bytes of the body.
	my $mutated = sub {
		my @methods = grep { $_ ne 'service.restart' } sort keys %call;
		my $method = $methods[ rand @methods ];
		my $body = body($method, $call{$method});
		substr($body, rand length $body, 1) = chr int rand 256
		    for 0 .. rand 3;
		return frame($body);
	};
	my $stuck = 0;
	for my $n (1 .. 600) {
		my $bytes = $n <= @crafted ? $crafted[ $n - 1 ]
		    : $n % 2 ? $random->() : $mutated->();
		for my $known (0, 1) {
			my $g = $known ? client($i) : raw();
			$g->bytes($bytes);
			shutdown $g->{sock}, 1;
			$g->closed or $stuck++;
		}
	}
	is($stuck, 0, 'every connection ends');
	alive('garbage');
	my $grown = resident_kib() - $before;
	cmp_ok($grown, '<', 8192 * $times, "grown by $grown KiB");
	emptied('garbage');
	# Among what was mutated some is right: it was drained.
	ok($c->call('service.resume', {}), 'garbage: goes on');
	next_succeeds('garbage');
};

# Sends until the server takes no more; false when it has closed.
sub pour {
	my ($to, $bytes) = @_;
	my $end = time + 60;

	$to->{sock}->blocking(0);
	while (time < $end) {
		my $n = syswrite $to->{sock}, $bytes;
		return 0 if !defined $n && !$!{EAGAIN};
		return 1 if defined $n && $n == length $bytes;
		substr $bytes, 0, $n, '' if $n;
		select undef, undef, undef, 0.002;
	}
	return 1;
}

my $list = frame(body('template.list', {}));
my $answer_bytes = do {
	my $probe = client($i);
	$probe->bytes($list);
	my $n = sysread $probe->{sock}, my $head, 4;
	4 + unpack 'N', $head;
};

subtest 'a client that never reads' => sub {
	my $deaf = client($i);
	local $SIG{PIPE} = 'IGNORE';
	pour($deaf, $list x 100) or last for 1 .. 100;
	ok(wait_until(60, sub {
		index($i->log, 'dropped: it does not read its answers') >= 0
	}), 'is dropped');
	alive('never reads');
	emptied('never reads');
	next_succeeds('never reads');
};

subtest 'many that do not read' => sub {
	my $limit = 64 << 20;
	# The kernel takes some of each, too: its buffers are not the service's.
	my $each = int((3 << 20) / $answer_bytes);
	my $count = int($limit / ($each * $answer_bytes)) + 6;
	my @deaf = map { client($i) } 1 .. $count;
	local $SIG{PIPE} = 'IGNORE';
	for my $d (@deaf) {
		pour($d, $list x $each);
		$c->call('profile.get');
	}
	ok(wait_until(60, sub { $i->log =~ /its queue is the longest/ }),
		"$count leave too much unread: one is dropped");
	like($i->log, qr/clients leave (\d+) bytes unread, more than $limit/,
		'as the log says');
	my $kib = resident_kib();
	cmp_ok($kib, '<', $times * (160 << 10), "$kib KiB in memory");
	alive('do not read');
	my @whole = grep {
		$_->{sock}->blocking(1);
		my ($bytes, $want) = (0, $each * $answer_bytes);
		while ($bytes < $want) {
			my $n = sysread $_->{sock}, my $some, 1 << 20;
			last unless $n;
			$bytes += $n;
		}
		$bytes == $want;
	} @deaf;
	my $dropped = () = $i->log =~ /its queue is the longest/g;
	cmp_ok($dropped, '<=', 8, "$dropped dropped");
	is(@whole + $dropped, $count, 'the others get all');
	undef $_ for @whole, @deaf;
	emptied('do not read');
	next_succeeds('do not read');
};

subtest 'a thousand clients' => sub {
	open(my $fh, '<', '/proc/self/limits');
	my ($mine) = map { /^Max open files\s+(\d+)/ ? $1 : () } <$fh>;
	plan skip_all => "only $mine descriptors are allowed"
	    if $mine < CLIENTS + 100;
	plan skip_all => 'the service may have fewer descriptors'
	    if $i->log =~ /no more descriptors are allowed/;
	my @many = map { client($i) } 2 .. CLIENTS;
	is($c->call('profile.get')->{clients}, CLIENTS, 'all are in');
	my $late = raw();
	my $hello = $late->send('hello', { proto => 1, client => 'late' });
	ok(!$late->receive(0.2), 'one more waits');
	my @asked = map { $_->send('profile.get', {}) } @many;
	my $good = grep { $many[$_]->answer($asked[$_])->{pid} == $pid }
	    0 .. $#many;
	is($good, scalar @many, 'each gets its answer');
	my @runs = map { ended($_, batch($_, [ $site->url('/corpus/1') ],
		{ mode => 'async' })->{runId}, 120)->{status} }
	    @many[ 0, 500, -1 ];
	is_deeply(\@runs, [ ('succeeded') x 3 ], 'and its run');
	pop @many;
	is($late->answer($hello)->{proto}, 1, 'until there is a place');
	undef $late;
	undef @many;
	emptied('a thousand');
	my $kib = resident_kib();
	cmp_ok($kib, '<', $times * (64 << 10), "$kib KiB in memory");
	next_succeeds('a thousand');
};

is($i->stop, 0, 'stops');
is(left(60, $site->{pid}), '', 'no process is left');
$site->stop;
done_testing();
