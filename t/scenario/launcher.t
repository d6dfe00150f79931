#!/usr/bin/perl
# The real launcher and cell with the real browser; supervisord and workerd
# are played by t/launch/fakesup and t/launch/fakework.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Talk;
use Fcntl qw(F_SETFD LOCK_EX);
use File::Find ();
use IO::Socket::UNIX;
use POSIX ();
use Socket;
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // die "builddir is not set\n";

$SIG{PIPE} = 'IGNORE';

sub instance {
	my (%opt) = @_;
	return BrowserTask::Harness->new(
		programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework",
		},
		%opt);
}

# The processes of an instance that are no launcher, supervisord or egressd.
sub cells {
	my ($i) = @_;
	return grep { $_->{cmd} !~ /^(?:supervisord|egressd)\b/ } tree($i->{pid});
}

sub find {
	my ($i, $re) = @_;
	my ($p) = grep { $_->{cmd} =~ $re } tree($i->{pid});
	return $p ? $p->{pid} : die "no process $re\n";
}

# Kills a process, or has it killed by $how, and waits until it is gone.
sub end {
	my ($pid, $how) = @_;

	$how ? $how->() : kill 'KILL', $pid;
	wait_until(60, sub { !-d "/proc/$pid" }) or die "$pid lives\n";
}

sub supervisord { return find($_[0], qr/^supervisord /) }
# That of supervisord, the first of the block.
sub uid_of {
	my ($i) = @_;
	my ($p) = grep { $_->{cmd} =~ /^supervisord / } tree($i->{pid});
	return $p->{uid};
}

sub worker { return find($_[0], qr/^workerd/) }
sub cell { return find($_[0], qr/^cell: session/) }

# A cell is ready before its browser has its name.
sub browser {
	my ($i) = @_;
	my $cell = cell($i);

	return wait_until(60, sub {
		my ($p) = grep { $_->{ppid} == $cell && $_->{cmd} =~ /--remote-/ }
		    tree($i->{pid});
		return $p && $p->{pid};
	}) // die "no browser in cell $cell\n";
}

# Listening TCP sockets held by a process.
sub listeners {
	my (@pids) = @_;
	my (%listening, $n);

	for my $table (qw(tcp tcp6)) {
		open(my $fh, '<', "/proc/net/$table") or next;
		while (<$fh>) {
			my @f = split;
			$listening{ $f[9] } = 1 if $f[3] eq '0A';
		}
	}
	$n = 0;
	for my $link (map { glob "/proc/$_/fd/*" } @pids) {
		my $to = readlink $link // next;
		$n++ if $to =~ /^socket:\[(\d+)\]/ && $listening{$1};
	}
	return $n;
}

sub files_below {
	my ($dir) = @_;
	opendir(my $dh, $dir) or return -1;
	return scalar grep { !/^\.\.?$/ } readdir $dh;
}

sub test_cell {
	my ($mode) = @_;
	my $i = instance(mode => $mode)->start;
	my $t = BrowserTask::Talk->new($i);
	my $system = $mode eq 'system';

	$t->say('who');
	my ($pid, $uid, $gid, $groups, $fds) =
	    $t->expect(qr/^me (\d+) (\d+) (\d+) (\d+) (\S+)/);
	my $base = $system ? $uid : undef;
	if ($system) {
		is($uid % 64, 0, 'supervisord has uid block+0');
		is($gid, $uid, 'and the group of the same number');
		is($groups, 0, 'and no other group');
	} else {
		is($uid, $> || 65534, 'supervisord runs as the caller');
	}

	is($t->up(1, BROWSER, worker => 2, browser => 3), 1,
	    'the shell is started');
	ok($t->version(1), 'and answers the worker over the pipe');
	$t->say('tell 1 who');
	my ($wuid, $wgid, $wgroups, $nnp, $wpid, $wfds) = $t->expect(
	    qr/^worker 1 me (\d+) (\d+) (\d+) (\d+) (\d+) (\S+)/);
	is($wfds, '0,1,2,3,4,5,6,', 'the worker has its fds and no others');
	is($nnp, 1, 'the worker cannot gain privileges');
	cmp_ok($wpid, '<', 10, 'the worker lives in a PID namespace');
	if ($system) {
		is($wuid, $base + 8 + 2, "the worker has its slot's uid");
		is($wgroups, 0, 'and no groups');
	}
	for my $dir ($i->state_dir, $i->run_dir) {
		$t->say("tell 1 see $dir");
		like($t->expect(qr/^worker 1 seen/), qr/seen (?:-1|0)$/,
		    "$dir cannot be seen inside");
	}
	$t->say('tell 1 see /dev/shm');
	ok($t->expect(qr/^worker 1 seen [0-9]/), '/dev/shm is its own');

	$t->say('tell 1 cdp {"id":2,"method":"Target.createTarget",'
	    . '"params":{"url":"about:blank"}}');
	$t->expect(qr/^worker 1 cdp \{"id":2,"result"/, 30);
	$t->say('check 1');
	my ($n, $seccomp, $depth, $rnnp) =
	    $t->expect(qr/^sandbox 1 (\d+) (\d+) (\d+) (\d+)/);
	cmp_ok($n, '>=', 1, 'a renderer was checked');
	is($seccomp, 2, 'renderers have a seccomp filter');
	cmp_ok($depth, '>=', 2, 'renderers have PID namespaces of their own');
	is($rnnp, 1, 'renderers cannot gain privileges');

	my @all = cells($i);
	is(scalar(grep { $_->{cmd} =~ /--no-sandbox/ } @all), 0,
	    'nothing runs without sandbox');
	is(listeners(map { $_->{pid} } @all), 0, 'nothing listens on TCP');
	if ($system) {
		my %uids = map { $_->{uid} => 1 } @all;
		is_deeply([ sort keys %uids ],
		    [ $base + 1, $base + 8 + 2, $base + 32 + 3 ],
		    'cell, worker and browser have uids of their own');
	}

	$t->say('tell 1 exit 3');
	is($t->expect(qr/^reaped 1/), 'reaped 1 768 worker ended 0 ',
	    'the cell ends with its worker');
	is(scalar(cells($i)), 0, 'REAPED: nothing of it is left');
	is(files_below($i->state_dir . '/profiles/kept'), 0, 'nor of its profile');

	is($t->up(3, BROWSER | FULL | TEXT), 2, 'full Chromium is started');
	ok($t->version(3), 'and answers');
	$t->say('tell 3 cdp {"id":2,"method":"Target.createTarget",'
	    . '"params":{"url":"about:blank"}}');
	$t->expect(qr/^worker 3 cdp \{"id":2,"result"/, 30);
	$t->say('check 3');
	like($t->expect(qr/^sandbox 3/), qr/^sandbox 3 [1-9]\d* 2 [2-9] 1$/,
	    'with its sandbox on');
	is(listeners(map { $_->{pid} } cells($i)), 0, 'nothing listens');
	$t->say('tell 3 exit 0');
	$t->expect(qr/^reaped 3/);
	is(scalar(cells($i)), 0, 'and nothing of it is left');

	is($t->up(2, DESCRIBE), 0, 'a worker without browser');
	is(scalar(cells($i)), 2, 'is a cell and a worker');
	$t->say('kill 2');
	is($t->expect(qr/^reaped 2/), 'reaped 2 9 killed 0 ', 'KILL kills it');
	is(scalar(cells($i)), 0, 'wholly');

	is($i->stop, 0, 'SIGTERM ends the instance with status 0');
	is(left(60), '', 'and leaves nothing');
	ok(!-e $i->admin_sock && !-e $i->client_sock, 'no socket either');
}

sub test_deaths {
	my ($mode) = @_;
	my $i = instance(mode => $mode)->start;
	my $t = BrowserTask::Talk->new($i);

	$t->up(1, BROWSER);
	kill 'KILL', worker($i);
	is($t->expect(qr/^reaped 1/), 'reaped 1 9 worker ended 0 ',
	    'worker killed');
	is(scalar(cells($i)), 0, 'and nothing is left');

	$t->up(2, BROWSER);
	$t->version(2);
	kill 'KILL', browser($i);
	is($t->expect(qr/^(?:browser_exited 2|worker 2 cdp eof)/) ? 1 : 0, 1,
	    'browser killed: noticed');
	$t->say('tell 2 exit 0');
	is($t->expect(qr/^reaped 2/), 'reaped 2 0 worker ended 0 ',
	    'its worker went on');
	is(scalar(cells($i)), 0, 'and nothing is left');

	$t->up(3, BROWSER);
	$t->version(3);
	kill 'STOP', browser($i), worker($i);
	kill 'KILL', cell($i);
	is($t->expect(qr/^reaped 3/), 'reaped 3 9 cell died 0 ',
	    'cell killed while worker and browser are stopped');
	is(scalar(cells($i)), 0, 'and nothing is left');

	$t->spawn(4, BROWSER);
	$t->say('kill 4');
	is($t->expect(qr/^reaped 4/), 'reaped 4 9 killed 0 ',
	    'killed in the middle of its start');
	is(scalar(cells($i)), 0, 'and nothing is left');

	$t->up(5, BROWSER);
	$t->spawn(6, BROWSER);
	is($t->expect(qr/^reaped 6/), 'reaped 6 0 spawn failed '
	    . POSIX::EBUSY() . ' take a slot', 'a slot is never shared');
	$t->up(7, BROWSER, worker => 1, browser => 1);
	kill 'STOP', browser($i);
	my $was = time;
	end(supervisord($i));
	ok(wait_until(60, sub { !grep { $_->{cmd} =~ /^cell/ } tree($i->{pid}) }),
	    'supervisord killed: its cells are, too');
	$t = BrowserTask::Talk->new($i);
	cmp_ok(time - $was, '<', 30, 'it is started again');
	is($t->up(1, BROWSER), 1, 'and works');
	end(supervisord($i), sub { $t->say('garbage') });
	$t = BrowserTask::Talk->new($i);
	is($t->up(1, BROWSER), 1, 'and again after it broke the protocol');
	like($i->log, qr/supervisord: broken link/, 'which is logged');

	$t->version(1);
	kill 'STOP', browser($i), worker($i), cell($i);
	kill 'KILL', $i->{pid};
	is(left(60), '',
	    'launcher killed while all of a cell is stopped: nothing left');
}

# Every owner of what is below a directory.
sub owners {
	my ($dir) = @_;
	my %uids;
	File::Find::find({ no_chdir => 1,
		wanted => sub { $uids{ (lstat $_)[4] } = 1 } }, $dir);
	return join ' ', sort keys %uids;
}

# The next worker in a kept cell.
sub next_worker {
	my ($t, $id) = @_;
	$t->say("worker $id");
	$t->expect(qr/^worker_ready $id/);
	my ($hello) = $t->expect(qr/^worker $id hello (.*)/);
	return $hello;
}

# Whatever was said before is done when the launcher answers this.
sub obeyed {
	my ($t, $id) = @_;
	$t->say("check $id");
	$t->expect(qr/^sandbox $id/);
}

sub test_kept {
	my ($mode) = @_;
	my $i = instance(mode => $mode)->start;
	my $t = BrowserTask::Talk->new($i);
	my $system = $mode eq 'system';
	my $dir = $i->state_dir . '/profiles/kept';

	is($t->up(1, BROWSER | KEEP, profile => 'one'), 1, 'a kept cell');
	ok($t->version(1), 'its first worker reaches the browser');
	my ($browser, $cell) = (browser($i), cell($i));
	$t->say('tell 1 who');
	my ($uid) = $t->expect(qr/^worker 1 me (\d+)/);
	$t->say('tell 1 exit 3');
	is($t->expect(qr/^(?:worker_exited|reaped)/), 'worker_exited 1 768',
	    'its worker ends, and it does not');
	is(browser($i), $browser, 'its browser lives');
	is(next_worker($t, 1), '--generation 1', 'a second worker');
	ok($t->version(1), 'reaches the same browser');
	$t->say('tell 1 who');
	my ($uid2, $groups, $nnp, $fds) = $t->expect(
	    qr/^worker 1 me (\d+) \d+ (\d+) (\d+) \d+ (\S+)/);
	is($uid2, $uid, 'with the same uid');
	is($groups, 0, 'no groups') if $system;
	is("$nnp $fds", '1 0,1,2,3,4,5,6,', 'confined as the first');
	$t->say('tell 1 caps');
	like($t->expect(qr/^worker 1 caps/), qr/ 0+$/, 'and no capability');
	obeyed($t, 1);
	my $worker = worker($i);
	kill 'STOP', $worker;
	$t->say('killworker 1');
	is($t->expect(qr/^(?:worker_exited|reaped)/), 'worker_exited 1 9',
	    'KILL_WORKER ends a stopped worker');
	ok(!-d "/proc/$worker", 'which is gone');
	$t->say('killworker 1');
	is(next_worker($t, 1), '--generation 2', 'a third one');
	ok($t->version(1), 'reaches the browser, too');
	is(cell($i), $cell, 'all in the same cell');
	$t->spawn(2, BROWSER | KEEP, worker => 1, browser => 1,
	    profile => 'one');
	is($t->expect(qr/^reaped 2/), 'reaped 2 0 spawn failed '
	    . POSIX::EBUSY() . ' take a slot', 'a profile is never shared');
	$t->say('tell 1 exit 0');
	$t->expect(qr/^worker_exited 1/);
	kill 'KILL', $browser;
	is($t->expect(qr/^reaped 1/), 'reaped 1 9 browser ended 0 ',
	    'without worker it ends with its browser');
	is(scalar(cells($i)), 0, 'and nothing is left');
	ok(-d "$dir/one", 'but its profile');

	$t->up(3, BROWSER | KEEP, profile => 'one');
	$t->version(3);
	kill 'KILL', browser($i);
	$t->expect(qr/^browser_exited 3/);
	$t->say('tell 3 exit 0');
	is($t->expect(qr/^reaped 3/), 'reaped 3 9 browser ended 0 ',
	    'it ends with its worker when the browser is gone');
	$t->up(4, BROWSER | KEEP, profile => 'one');
	$t->version(4);
	$t->say('kill 4');
	is($t->expect(qr/^reaped 4/), 'reaped 4 9 killed 0 ', 'KILL ends all');
	is(scalar(cells($i)), 0, 'and nothing is left');

	$t->up(8, BROWSER | KEEP, profile => 'one');
	$t->say('tell 8 exit 0');
	$t->expect(qr/^worker_exited 8/);
	kill 'KILL', cell($i);
	is($t->expect(qr/^reaped 8/), 'reaped 8 9 cell died 0 ',
	    'an idle one that is killed died');

	# What a killed browser leaves must not stop the next one.
	ok(-l "$dir/one/SingletonLock"
	    || symlink('browsertask-2', "$dir/one/SingletonLock"),
	    'a lock of a browser that is gone');
	lchown($dir, 'one/SingletonLock');
	symlink('/etc/passwd', "$dir/one/link");
	lchown($dir, 'one/link');
	my $passwd = (stat '/etc/passwd')[4];
	is($t->up(5, BROWSER | KEEP, worker => 4, browser => 9,
	    profile => 'one'), 1, 'the profile under another slot');
	ok($t->version(5), 'works');
	is((stat '/etc/passwd')[4], $passwd, 'no link was followed');
	if ($system) {
		my ($other) = map { $_->{uid} } grep { $_->{pid} == browser($i) }
		    tree($i->{pid});
		is(owners("$dir/one"), $other, 'all of it changed hands');
	}
	$t->say('forget one');
	obeyed($t, 5);
	ok(-d "$dir/one", 'a profile in use is not removed');
	$t->say('kill 5');
	$t->expect(qr/^reaped 5/);
	ok(!-d "$dir/one", 'but when its cell is gone');
	test_purge($i, $t, $dir);
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
}

# As if the browser had made it.
sub lchown {
	my ($dir, $name) = @_;
	my ($uid) = (stat "$dir/one")[4];
	system('chown', '-h', "$uid:$uid", "$dir/$name") if $> == 0;
}

sub test_purge {
	my ($i, $t, $dir) = @_;

	for my $name (qw(stay go live)) {
		mkdir "$dir/$name";
		mkdir "$dir/$name/sub";
		symlink('/etc', "$dir/$name/sub/link");
	}
	my $deep = "$dir/go";
	for (1 .. 80) {
		mkdir($deep .= '/d') or die "$deep: $!\n";
	}
	system('chown', '-hR', (stat $dir)[4], $dir) if $> == 0;
	$t->up(7, BROWSER | KEEP, profile => 'live');
	$t->say('known stay');
	$t->say('purge');
	$t->say('forget never');
	obeyed($t, 7);
	opendir(my $dh, $dir) or die;
	is(join(' ', sort grep { !/^\.\.?$/ } readdir $dh), 'live stay',
	    'PURGE removes all but those named and used, however deep');
	ok(-e '/etc/passwd', 'and what a link led to is there');
	$t->say('kill 7');
	$t->expect(qr/^reaped 7/);
}

# Somebody has the lock, until that is said. A machine that is slow to let go of
# it is given another chance.
sub waits_for_lock {
	my ($i) = @_;

	is($i->stop, 0, 'it stops');
	for (1 .. 5) {
		open(my $lock, '+<', $i->state_dir . '/lock')
		    or die "lock: $!\n";
		flock $lock, LOCK_EX or die "flock: $!\n";
		$i->launch;
		wait_until(20, sub { $i->log =~
		    /waits up to 2 s for process $$ \(\S+\), which has the/ });
		close $lock;
		return 1 if $i->ready;
		$i->wait;
	}
	return 0;
}

sub test_restart_after_kill {
	my ($mode) = @_;
	my $i = instance(mode => $mode)->start;
	my $t = BrowserTask::Talk->new($i);
	my $profiles;

	$t->up(1, BROWSER);
	$t->version(1);
	kill 'KILL', $i->{pid};
	is(left(60), '', 'nothing left of a killed instance');
	$i->wait;
	$i->start;
	pass('it starts again on the same state and sockets');
	is(files_below($i->state_dir . '/profiles/kept'), 0,
	    'and no profile was left');

	ok(waits_for_lock($i), 'it waits for what a killed one has left');
	$t = BrowserTask::Talk->new($i);

	my $second = instance(mode => $mode, state => $i->state_dir)->launch;
	is($second->wait, 75 << 8, 'the state directory is locked');
	like($second->log, qr/another browsertaskd uses the state directory .*process $i->{pid} \(browsertaskd\)/,
	    'and says so, and which has it');
	$second = instance(mode => $mode, run => $i->run_dir)->launch;
	is($second->wait, 75 << 8, 'so is the socket directory');

	$t = BrowserTask::Talk->new($i);
	$t->up(1, BROWSER, profile => 'kept-one');
	$t->version(1);
	$t->say('tell 1 exit 0');
	$t->expect(qr/^reaped 1/);
	$profiles = $i->state_dir . '/profiles/kept/kept-one';
	cmp_ok(files_below($profiles), '>', 0, 'a named profile is kept');
	$t->up(2, BROWSER, profile => 'kept-one');
	ok($t->version(2), 'and used again');
	$t->say('deaf');
	$t->expect(qr/^deaf/);
	my $was = time;
	is($i->stop, 0, 'a supervisord that does not end');
	cmp_ok(time - $was, '>=', 2.9, 'gets its grace');
	is(left(60), '', 'and is killed');
}

sub test_blocks {
	my $i = instance(mode => 'system')->start;
	my $j = instance(mode => 'system')->start;
	my ($a, $b) = map { uid_of($_) } $i, $j;

	isnt($a, $b, 'two instances have different uids');
	my $k = instance(mode => 'system',
	    settings => [ "uidBase=$a", 'uidBlocks=1' ])->launch;
	is($k->wait, 75 << 8, 'a block is never shared');
	like($k->log, qr/all 1 blocks of uids from $a on are taken/,
	    'and says so');
	is($j->stop, 0, 'stop');

	# A file that supervisord made must be its own under another uid.
	my $dir = $j->state_dir . '/store/sub';
	my $notes = $j->state_dir . '/notes';
	mkdir $_ for $j->state_dir . '/store', $dir, $notes;
	chown $b, $b, $j->state_dir . '/store', $notes;
	chown $b, $b, $dir;
	open(my $fh, '>', "$dir/file");
	close $fh;
	chown $b, $b, "$dir/file";
	link "$dir/file", $j->dir . '/other-name';
	open($fh, '>', "$dir/single");
	close $fh;
	chown $b, $b, "$dir/single";
	my $stray = fork() // die;
	if ($stray == 0) {
		setpgrp;
		POSIX::setuid($b + 40);
		exec 'sleep', '1000';
	}
	wait_until(60, sub { (grep { $_->{pid} == $stray && $_->{uid} == $b + 40
	    && $_->{cmd} =~ /sleep/ } tree()) });
	$j->start;
	is(uid_of($j), $b, 'it takes its former block again');
	ok(!(grep { $_->{pid} == $stray && $_->{state} ne 'Z' } tree()),
	    'and kills what was left in it');
	like($j->log, qr/killing process $stray/, 'which is logged');
	is($j->stop, 0, 'stop');
	my $far = 1879048192 + 64 * ($$ % 4096);
	$j->{settings} = [ "uidBase=$far", 'uidBlocks=1' ];
	$j->start;
	is(uid_of($j), $far, 'another block');
	is((stat $dir)[4], $far, 'directories change hands');
	is((stat "$dir/single")[4], $far, 'and files');
	is((stat "$dir/file")[4], $b, 'but none with a second name');
	is((stat $notes)[4], $b, 'nor what supervisord never makes');
	is((stat $j->state_dir . '/profiles')[4], 0, 'profiles stay root\'s');
	is($j->stop, 0, 'stop');
	is($i->stop, 0, 'stop');
	is(left(60), '', 'nothing left');
}

sub test_damping {
	my $i = instance(mode => $_[0], settings => ['debug=1'])->launch;
	my $was = time;

	is($i->wait(20), 1 << 8, 'a supervisord that always ends: exit 1');
	cmp_ok(time - $was, '>=', 3.9, 'not faster than once a second');
	is(() = $i->log =~ /supervisord ended with status 9/g, 5,
	    'after five starts');
	is(left(60), '', 'nothing left');
}

sub test_systemd {
	my ($mode) = @_;
	my $dir = File::Temp::tempdir('bt-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0777, $dir;
	my $notify = IO::Socket::UNIX->new(Type => SOCK_DGRAM,
	    Local => "$dir/notify") or die "notify: $!\n";
	my %sockets;
	for my $name (qw(client admin)) {
		socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
		bind($s, pack_sockaddr_un("$dir/$name")) or die;
		$sockets{$name} = $s;
	}
	chmod 0777, "$dir/notify";
	my $i = instance(mode => $mode, sockets => \%sockets,
	    env => { NOTIFY_SOCKET => "$dir/notify" })->start;
	$notify->recv(my $text, 100);
	is($text, 'READY=1', 'systemd is told READY=1');
	ok(IO::Socket::UNIX->new(Peer => "$dir/admin"),
	    'the inherited socket is served');
	ok(!-e $i->admin_sock, 'and none is made');
	is($i->stop, 0, 'stop');
	$notify->recv($text, 100);
	is($text, 'STOPPING=1', 'systemd is told STOPPING=1');
	ok(-e "$dir/admin", 'the inherited socket is left alone');
}

sub run_launcher {
	my @args = @_;
	my $out = `$build/launcher/browsertaskd @args 2>&1`;
	return ($? >> 8, $out);
}

sub test_usage {
	my ($code, $out) = run_launcher('-V');
	is("$code $out" =~ /^0 browsertaskd \d/ ? 1 : 0, 1, '-V');
	($code, $out) = run_launcher('-h');
	ok($code == 0 && $out =~ /uidBase/, '-h lists the settings');
	for my $wrong ('-x', 'word', '-o nonsense', '-o nothing=1',
	    '-o maxQueuedRuns=many', '--ready-fd 999', '--ready-fd x',
	    '-s ""') {
		($code, $out) = run_launcher($wrong);
		is($code, 64, "refused: $wrong");
	}
	my $i = instance();
	mkdir $i->state_dir;
	open(my $fh, '>', $i->state_dir . '/letter');
	close $fh;
	$i->launch;
	is($i->wait, 73 << 8, 'a directory of other files is refused');
	open($fh, '>', $i->state_dir . '/lock');
	close $fh;
	is($i->launch->wait, 73 << 8, 'also when one is called lock');
	if ($> == 0) {
		unlink map { $i->state_dir . "/$_" } qw(letter lock);
		chown 12345, 12345, $i->state_dir;
		is($i->launch->wait, 73 << 8, 'or when it is somebody\'s own');
		is((stat $i->state_dir)[4], 12345, 'which it stays');
	}
	$i = instance(browser => '/nonexistent')->launch;
	is($i->wait, 69 << 8, 'a missing browser is named');
	like($i->log, qr{browser /nonexistent: No such file}, 'in words');
	my $long = instance()->dir . '/' . 'x' x 120;
	$i = instance(run => $long)->launch;
	is($i->wait, 73 << 8, 'a socket path that is too long');
}

# Standard descriptors closed and SIGCHLD ignored, as careless parents do.
sub test_careless_parent {
	my ($mode) = @_;
	my $i = instance(mode => $mode);

	pipe(my $r, my $w) or die;
	fcntl($w, F_SETFD, 0);
	my $pid = fork() // die;
	if ($pid == 0) {
		$i->become;
		$SIG{CHLD} = 'IGNORE';
		POSIX::close($_) for 0 .. 2;
		exec $i->command(fileno $w) or POSIX::_exit(127);
	}
	close $w;
	$i->{pid} = $pid;
	$i->{ready} = lines($r);
	ok($i->ready, 'it serves');
	is(readlink "/proc/$pid/fd/$_", '/dev/null', "its descriptor $_")
	    for 0 .. 2;
	is(readlink '/proc/' . supervisord($i) . '/fd/2', '/dev/null',
	    "supervisord's standard error is no socket or directory");
	my $t = BrowserTask::Talk->new($i);
	$t->up(1, DESCRIBE);
	$t->say('tell 1 exit 3');
	is($t->expect(qr/^reaped 1/), 'reaped 1 768 worker ended 0 ',
	    'how a worker ended is known');
	is($i->stop, 0, 'stop');
}

# What a worker without browser gets through its secrets pipe.
sub secrets_of {
	my ($t, $id, $run) = @_;

	$t->up($id, DESCRIBE, worker => $id);
	$t->say("give $id $run");
	$t->say("tell $id secrets");
	return $t->expect(qr/^worker $id (secrets .*)/);
}

sub test_secrets {
	my ($mode) = @_;
	my $i = instance(mode => $mode)->start;
	my $t = BrowserTask::Talk->new($i);
	my ($a, $b, $c) = map { SESSION . $_ } 'A' .. 'C';

	$t->say("secret $a 9 geheim");
	$t->say("secret $b 65536 lang");
	is((secrets_of($t, 1, $a))[0], 'secrets 9 geheimxxx',
	    'a worker gets the secrets of its run');
	is((secrets_of($t, 2, $b))[0], 'secrets 65536 lang' . 'x' x 36,
	    'as many as there may be');
	is((secrets_of($t, 3, $a))[0], 'secrets 9 geheimxxx',
	    'so does the worker of a further attempt');
	is((secrets_of($t, 4, $c))[0], 'secrets 0 ',
	    'a run without any finds an end');
	$t->say("drop $a");
	is((secrets_of($t, 5, $a))[0], 'secrets 0 ', 'so does one dropped');
	is((secrets_of($t, 6, $b))[0], 'secrets 65536 lang' . 'x' x 36,
	    'others are still there');
	$t->say("secret $c 4 abcd");
	$t->say("secret $c 4 efgh");
	is((secrets_of($t, 7, $c))[0], 'secrets 4 efgh', 'the last count');
	$t->say("give 99 $b");
	my $was = supervisord($i);
	$t->say("unsealed $a");
	wait_until(60, sub { !-d "/proc/$was" });
	like($i->log, qr/supervisord: broken link/,
	    'what is no sealed memfd breaks the link');
	$t = BrowserTask::Talk->new($i);
	is((secrets_of($t, 1, $b))[0], 'secrets 65536 lang' . 'x' x 36,
	    'a restart of supervisord loses none of the others');
	is($i->stop, 0, 'stop');
}

# One user namespace is allowed, and the launcher is in it.
sub test_no_namespaces {
	my $i = instance();
	my $dir = $i->dir;
	my $inner = "exec unshare -U --map-user=1000 --map-group=1000 "
	    . "$build/launcher/browsertaskd -s $dir/state -r $dir/run "
	    . "-P $dir/lib";
	my $outer = "echo 1 >/proc/sys/user/max_user_namespaces && $inner";
	my $out = `unshare -Ur sh -c '$outer' 2>&1`;

	is($? >> 8, 71, 'without user namespaces: exit 71');
	like($out, qr/cannot make namespaces: .*user\.max_user_namespaces/,
	    'and advice');
}

beside(mode_parts(cell => \&test_cell, deaths => \&test_deaths,
	kept => \&test_kept, restart => \&test_restart_after_kill,
	damping => \&test_damping, systemd => \&test_systemd,
	careless => \&test_careless_parent, secrets => \&test_secrets),
    $> == 0 ? ('uid blocks' => \&test_blocks) : (),
    'no namespaces' => \&test_no_namespaces, usage => \&test_usage);
done_testing();
