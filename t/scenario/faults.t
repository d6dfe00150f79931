#!/usr/bin/perl
# What the machine may do to the service: a full queue, a missing browser, a
# second daemon, a state directory it cannot use, a full disk, a full map, no
# descriptors. Each has its code, message and advice, the next run succeeds and
# no process is left. Real programs, real browser.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use POSIX ();
use File::Copy ();
use Test::More;

my $site = BrowserTask::Scenario::Site->new;
my $asked = 0;

my %hint = (
	QUEUE_FULL => 'Wait until queued runs have started, then submit again.',
	STORAGE_FULL => 'Free disk space under the state directory, then submit'
	    . ' again.',
	SPAWN_FAILED => "The compartment could not be made; see the service's"
	    . ' log.',
	STORAGE_ERROR => "Look at the service's log; the record could not be"
	    . ' read or written.',
	BROWSER_START_FAILED => "The browser did not start; see the service's"
	    . ' log.',
	BELOW_THRESHOLD => "Too many items failed; look at the items' errors.",
);

sub instance {
	my ($mode, @settings) = @_;
	return BrowserTask::Harness->new(mode => $mode,
		settings => \@settings);
}

# One that is patient: the machine may be busy with other tests.
sub patient {
	my ($i) = @_;
	return BrowserTask::Client->new($i->client_sock, seconds => 120);
}

sub page { return $site->url('/corpus/1?n=' . ++$asked) }

sub short {
	my ($c, %options) = @_;
	return batch($c, [ page() ], { mode => 'sync', %options });
}

# A run that does not end by itself, behind one page.
sub hold {
	my ($c) = @_;
	return batch($c, [ page(), $site->url('/never-headers') ],
		{ mode => 'async' }, concurrency => 1)->{runId};
}

sub fault_is {
	my ($e, $code, $cause, $message, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	error_is($e, $code, $cause, $name);
	like($e->{message}, $message, "$name: message");
	is($e->{recoverHint}, $hint{$cause}, "$name: advice");
	ok($e->{retryable}, "$name: may be tried again");
}

sub has {
	my ($text, $part, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(index($text, $part) >= 0, $name) or diag $text;
}

sub next_succeeds {
	my ($c, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $r = short($c);
	is($r->{status}, 'succeeded', "$name: the next run succeeds")
	    or diag explain $r;
}

sub nothing_left {
	my ($i, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($i->stop, 0, "$name: stops") if defined $i->{pid};
	is(left(60, $site->{pid}), '', "$name: no process is left");
}

# Limits of a running process. Soft ones, so that they can be lifted again. Not
# every root may do this to others: the process's own uid may.
sub limit {
	my ($target, $what, $value) = @_;
	$value .= ':' if $value !~ /:/;
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0) {
		my ($uid, $gid) = (stat "/proc/$target")[4, 5];
		$) = "$gid $gid";
		POSIX::setgid($gid);
		POSIX::setuid($uid);
		exec 'prlimit', '--pid', $target, "--$what=$value"
		    or POSIX::_exit(127);
	}
	waitpid $pid, 0;
	return $? == 0;
}

sub supervisord { return $_[0]->call('profile.get')->{pid} }

sub test_queue {
	my ($mode) = @_;
	my $i = instance($mode, 'maxConcurrentRuns=1', 'maxQueuedRuns=1')->start;
	my $c = patient($i);
	my $held = hold($c);

	done($c, $held, 1);
	my $waits = batch($c, [ page() ], { mode => 'async' })->{runId};
	my $r = short($c, idempotencyKey => 'again');
	fault_is($r, 'EXECUTION_ERROR', 'QUEUE_FULL',
		qr/^1 runs are waiting already$/, 'full queue');
	$c->call('run.cancel', { runId => $held });
	is(ended($c, $waits)->{status}, 'succeeded', 'who waited runs');
	is(short($c, idempotencyKey => 'again')->{status}, 'succeeded',
		'who was refused may come again with its key');
	nothing_left($i, 'full queue');
}

# Missing at the start: refused. Useless later: an error of the run.
sub test_browser {
	my ($mode) = @_;
	my $i = instance($mode);

	$i->{browser} = '/nonexistent/chromium-headless-shell';
	is($i->launch->wait, 69 << 8, 'a missing browser: exit 69');
	like($i->log, qr{cannot use browser /nonexistent/\S+: No such file},
		'said in words');
	nothing_left($i, 'missing browser');

	# All that lies beside a browser is shown to it.
	my $bare = "/tmp/bt-$$-chromium-headless-shell";
	File::Copy::copy('/bin/true', $bare) or die "$bare: $!\n";
	chmod 0755, $bare;
	$i->{browser} = $bare;
	is($i->launch->wait, 69 << 8, 'a browser that lies in /tmp: exit 69');
	like($i->log, qr{read all of /tmp; give it a directory of its own},
		'said in words');
	unlink $bare;
	nothing_left($i, 'browser in /tmp');

	my $fake = $i->dir . '/chromium-headless-shell';
	open(my $fh, '>', $fake);
	print $fh "#!/bin/sh\nexit 1\n";
	close $fh;
	chmod 0755, $fake;
	$i = instance($mode, 'browserStartMs=10000');
	$i->{browser} = $fake;
	my $c = patient($i->start);
	my $r = short($c);
	is($r->{status}, 'failed', 'a browser that does not start');
	fault_is($r->{error}, 'EXECUTION_ERROR', 'BROWSER_START_FAILED',
		qr/browser/, 'useless browser');
	nothing_left($i, 'useless browser');
	delete $i->{browser};
	next_succeeds(patient($i->start), 'with a browser');
	nothing_left($i, 'with a browser');
}

sub test_second {
	my ($mode) = @_;
	my $i = instance($mode)->start;
	my $c = patient($i);
	my $second = instance($mode);

	$second->{state} = $i->state_dir;
	is($second->launch->wait, 75 << 8, 'a second daemon: exit 75');
	has($second->log, 'another browsertaskd uses the state directory '
	    . $i->state_dir . ': stop it, or name another one with -s',
	    'which names it');
	next_succeeds($c, 'the first');
	nothing_left($i, 'the first');
}

# CRC-32C, as storage has it.
sub crc32c {
	my $crc = 0xffffffff;
	for my $byte (unpack 'C*', $_[0]) {
		$crc ^= $byte;
		$crc = $crc & 1 ? $crc >> 1 ^ 0x82f63b78 : $crc >> 1 for 1 .. 8;
	}
	return $crc ^ 0xffffffff;
}

# The record of the schema's version in the first table, with its checksum over
# record version, table, key and value.
sub schema_record {
	my ($version) = @_;
	my $value = pack 'CC', 0x91, $version;
	return pack('CN', 1, crc32c("\x01\x00schema$value")) . $value;
}

# In a store that was closed LMDB has it in the open.
sub test_state {
	my ($mode) = @_;
	my $i = instance($mode)->start;

	next_succeeds(patient($i), 'a new state directory');
	nothing_left($i, 'a new state directory');
	my $store = $i->state_dir . '/store';
	my ($uid, $gid) = (stat $store)[4, 5];
	my $refused = sub {
		my ($name, $why) = @_;
		my ($took, $status) = timed(sub { $i->launch->wait(30) });
		is($status, 73 << 8, "$name: exit 73");
		like($i->log, $why, "$name: said in words");
		is((() = $i->log =~ /supervisord ended with/g), 1,
			"$name: tried once") or diag $i->log;
		has($i->log, $i->state_dir . ' cannot be used: mend what '
		    . 'supervisord says above, or name another one with -s',
		    "$name: with advice");
		is(left(60, $site->{pid}), '', "$name: no process is left");
		truncate $i->dir . '/log', 0;
	};

	chmod 0, "$store/data.mdb";
	$refused->('unreadable', qr/open the database: .*Permission denied/)
	    if $mode eq 'user' || chown 0, 0, "$store/data.mdb";
	chmod 0600, "$store/data.mdb";
	chown $uid, $gid, "$store/data.mdb" if $> == 0;

	open(my $fh, '+<', "$store/data.mdb");
	binmode $fh;
	my $bytes = do { local $/; <$fh> };
	my $was = $bytes;
	# The record's version and checksum, then an array of one number.
	$bytes =~ s/(schema)\x01.{4}\x91([\x01-\x7e])
	    /$1 . schema_record(1 + ord $2)/gsex;
	isnt($bytes, $was, 'the store is made one of a newer version');
	seek $fh, 0, 0;
	print $fh $bytes;
	$fh->flush;
	$refused->('newer', qr/read the schema: written by a newer version/);
	seek $fh, 0, 0;
	print $fh $was;
	$fh->flush;
	open(my $junk, '>', "$store/data.mdb.junk");
	print $junk 'x' x 65536;
	close $junk;
	chmod 0600, "$store/data.mdb.junk";
	chown $uid, $gid, "$store/data.mdb.junk" if $> == 0;
	rename "$store/data.mdb", "$store/data.mdb.good";
	rename "$store/data.mdb.junk", "$store/data.mdb";
	$refused->('damaged', qr/open the database: stored data is damaged/);
	rename "$store/data.mdb.good", "$store/data.mdb";
	next_succeeds(patient($i->start), 'as it was');
	nothing_left($i, 'as it was');

	# What the launcher itself cannot use is nobody's to mend but theirs.
	my $other = instance($mode);
	my $dir = $other->state_dir;
	mkdir $dir;
	open($fh, '>', "$dir/letter");
	close $fh;
	chown((stat $other->dir)[4, 5], $dir) if $> == 0;
	is($other->launch->wait, 73 << 8, 'a directory of others: exit 73');
	has($other->log, "$dir holds other files, or those of a service of "
		. 'another user: name an empty or new directory with -s',
		'said in words');
	ok(-e "$dir/letter", 'which stays as it was');
	nothing_left($other, 'a directory of others');
}

# Writes that would make a file longer are refused, which is what a full disk
# and a quota do.
sub test_writes_refused {
	my ($mode) = @_;
	my $i = instance($mode, 'maxConcurrentRuns=1')->start;
	my $c = patient($i);
	my $pid = supervisord($c);
	my $held = hold($c);

	done($c, $held, 1);
	ok(limit($pid, 'fsize', 4096), 'nothing can be written');
	my $r = short($c, idempotencyKey => 'full', mode => 'async');
	fault_is($r, 'EXECUTION_ERROR', 'STORAGE_FULL',
		qr/^the disk is full or refuses writes$/, 'refused writes');
	is($c->call('run.get', { runId => $held })->{status}, 'running',
		'reading goes on');
	$c->send('run.cancel', { runId => $held });
	ok(wait_until(60, sub { !@{ { parts($i, $held) }->{all} } }),
		'a cancel ends the processes');
	ok(limit($pid, 'fsize', 'unlimited'), 'there is room again');
	$r = ended($c, $held, 120);
	is($r->{status}, 'canceled', 'then the run ends');
	is($r->{error}{errorCode}, 'RUN_CANCELED', 'with its reason');
	is(supervisord($c), $pid, 'nothing was restarted');
	is(short($c, idempotencyKey => 'full')->{status}, 'succeeded',
		'who was refused may come again with its key');

	# A run whose progress cannot be kept fails, once that can be written.
	my $run = batch($c, [ $site->url('/slow') ], { mode => 'async' })
	    ->{runId};
	event($c, $run, 120, sub { $_[0]{type} eq 'step_started' });
	limit($pid, 'fsize', 4096);
	ok(wait_until(60, sub { $i->log =~ /\Q$run\E: progress was not stored/ }),
		'progress is lost');
	limit($pid, 'fsize', 'unlimited');
	fault_is(ended($c, $run, 120)->{error}, 'EXECUTION_ERROR',
		'STORAGE_FULL', qr/^the disk is full or refuses writes$/,
		'lost progress');
	is(supervisord($c), $pid, 'nothing was restarted');
	next_succeeds($c, 'lost progress');
	nothing_left($i, 'refused writes');
}

sub test_small_disk {
	my $i = instance('system', 'maxConcurrentRuns=1', 'minFreeBytes=4000000');
	my $dir = $i->state_dir;

	mkdir $dir;
	system("mount -t tmpfs -o size=24m,mode=700 none $dir 2>/dev/null") == 0
	    or plan skip_all => 'no tmpfs can be mounted here';
	my $c = patient($i->start);
	my $held = hold($c);
	done($c, $held, 1);
	open(my $fh, '>', "$dir/junk");
	1 while syswrite $fh, "\0" x 65536;
	close $fh;
	my $r = short($c);
	fault_is($r, 'EXECUTION_ERROR', 'STORAGE_FULL',
		qr/^too little disk space is free$/, 'full disk');
	kill 'KILL', supervisord($c);
	$c = wait_until(60, sub { eval { patient($i) } });
	ok($c, 'the service starts anew on a full disk') or diag $i->log;
	is(get($c, $held)->{attempt}, 1, 'and goes on with its runs');
	$c->call('run.cancel', { runId => $held });
	$r = ended($c, $held, 120);
	is($r->{status}, 'canceled', 'a run can be canceled on a full disk');
	unlink "$dir/junk";
	next_succeeds($c, 'full disk');
	nothing_left($i, 'full disk');
	system("umount $dir");
}

sub test_full_map {
	my ($mode) = @_;
	my $i = instance($mode, 'maxConcurrentRuns=1')->start;
	my $c = patient($i);
	my $pid = supervisord($c);
	my $held = hold($c);
	my @urls = map { 'http://127.0.0.1:1/' . 'x' x 2000 . $_ } 1 .. 1000;
	my ($r, @queued);

	open(my $fh, '<', "/proc/$pid/status");
	my ($kib) = map { /^VmSize:\s+(\d+)/ ? $1 : () } <$fh>;
	if ($kib > 1 << 30) {
		$i->stop;
		plan skip_all => 'a sanitizer cannot do with fewer addresses';
	}
	done($c, $held, 1);
	ok(limit($pid, 'as', ($kib << 10) + (48 << 20)),
		'the map cannot be made larger');
	for my $n (1 .. 60) {
		$r = batch($c, \@urls, { mode => 'async' });
		last if $r->{errorCode};
		push @queued, $r->{runId};
	}
	fault_is($r, 'EXECUTION_ERROR', 'STORAGE_FULL',
		qr/^the disk is full or refuses writes$/, 'full map');
	note scalar(@queued) . ' runs were taken';
	is($c->call('run.list', { limit => 1 })->{total}, 1 + @queued,
		'none of them is lost');
	ok($c->call('run.cancel', { runId => $_ })->{success},
		'a run can be canceled') for pop @queued;
	ok(limit($pid, 'as', 'unlimited'), 'there is room again');
	for my $run (@queued, $held) {
		$c->call('run.cancel', { runId => $run });
	}
	is(ended($c, $held, 120)->{status}, 'canceled', 'the others, too');
	is(supervisord($c), $pid, 'nothing was restarted');
	next_succeeds($c, 'full map');
	nothing_left($i, 'full map');
}

# Neither supervisord nor the launcher may open anything more.
sub test_descriptors {
	my ($mode) = @_;
	my $i = instance($mode, 'maxConcurrentRuns=1')->start;
	my $c = patient($i);
	my $pid = supervisord($c);
	# The first number that is free, once the last run has left it alone.
	my $free = sub {
		my ($which) = @_;
		my $n = 0;
		$n++ while -l "/proc/$which/fd/$n";
		return $n;
	};
	my %idle = map { $_ => $free->($_) } $pid, $i->{pid};
	my $settle = sub {
		my ($which) = @_;
		wait_until(60, sub { $free->($which) == $idle{$which} });
		return $idle{$which};
	};

	next_succeeds($c, 'before');
	for my $case (
		[ 'no spool', $pid, 0, 'STORAGE_ERROR',
			qr/^its spool cannot be opened: .*: Too many open files$/ ],
		[ 'no channel', $pid, 1, 'SPAWN_FAILED',
			qr/^no descriptors are left$/ ],
		[ 'no cell', $i->{pid}, 0, 'SPAWN_FAILED',
			qr/: Too many open files$/ ]) {
		my ($name, $which, $more, $cause, $message) = @$case;
		ok(limit($which, 'nofile', $settle->($which) + $more),
			"$name: no more descriptors");
		my $r = short($c);
		is($r->{status}, 'failed', "$name: a run fails");
		fault_is($r->{error}, 'EXECUTION_ERROR', $cause, $message,
			$name);
		limit($which, 'nofile', 4096);
		is(supervisord($c), $pid, "$name: nothing was restarted");
		next_succeeds($c, $name);
	}
	limit($pid, 'nofile', $settle->($pid));
	my $late = BrowserTask::Client->new($i->client_sock, raw => 1);
	my $hello = $late->send('hello', { proto => 1, client => 'late' });
	ok(!$late->receive(0.2), 'a new client waits');
	is($c->call('profile.get')->{pid}, $pid, 'the others do not');
	limit($pid, 'nofile', 4096);
	is($late->answer($hello)->{proto}, 1, 'until there is a descriptor');

	# Below what it needs at all there is no sense in starting it again.
	ok(limit($i->{pid}, 'nofile', '400:400'), 'far too few for ever');
	kill 'KILL', $pid;
	is($i->wait(30), 71 << 8, 'far too few: exit 71');
	has($i->log, 'at least 513 descriptors are needed (RLIMIT_NOFILE)',
		'said in words');
	has($i->log, 'supervisord cannot run here: mend what it says above',
		'with advice');
	nothing_left($i, 'descriptors');
}

# One page that cannot be read of one: the log agrees with the envelope.
sub test_threshold {
	my ($mode) = @_;
	my $i = instance($mode)->start;
	my $c = patient($i);
	my $r = batch($c, [ 'http://127.0.0.1:1/' ], { mode => 'sync' });

	fault_is($r->{error}, 'STEP_EXECUTION_FAILED', 'BELOW_THRESHOLD',
		qr/^0 of 1 items succeeded, too few/, 'threshold');
	$r = get($c, $r->{runId}, 'output');
	my ($step) = @{ $r->{output}{steps} };
	is($step->{error_code}, 'BELOW_THRESHOLD', 'the step has failed');
	my @e = grep { $_->{type} =~ /^step_(succeeded|failed)$/ }
	    @{ $c->call('run.events', { runId => $r->{runId} })->{events} };
	is_deeply([ map { [ $_->{type}, $_->{data}{step},
		$_->{data}{errorCode} ] } @e ],
		[ [ 'step_failed', $step->{name}, 'BELOW_THRESHOLD' ] ],
		'as the log says, once');
	next_succeeds($c, 'threshold');
	nothing_left($i, 'threshold');
}

my $first = (modes())[0];
beside(mode_parts('full queue' => \&test_queue, browser => \&test_browser,
	'second daemon' => \&test_second, 'state directory' => \&test_state,
	'refused writes' => \&test_writes_refused,
	descriptors => \&test_descriptors),
    'full map' => sub { test_full_map($first) },
    threshold => sub { test_threshold($first) },
    $first eq 'system' ? ('full disk' => \&test_small_disk) : ());
note 'a full disk of a few MB needs root: refused writes stand for it'
    if $first ne 'system';
$site->stop;
done_testing();
