#!/usr/bin/perl
# A browser that was taken over, in its compartment: t/launch/hostile is started
# in its place and tries everything that a row below names, by itself and with
# the capabilities of namespaces of its own. Each attempt is printed with what
# became of it. supervisord and workerd are played by t/launch/fakesup and
# t/launch/fakework; launcher and cell are real.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Talk;
use File::Copy ();
use File::Temp ();
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use Socket;
use Test::More;

use constant LANDLOCK_SIGNALS => 6; # its version that knows them

my $build = $ENV{builddir} // die "builddir is not set\n";

sub instance {
	my (%opt) = @_;
	return BrowserTask::Harness->new(
		browser => "$build/t/launch/hostile",
		programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework",
		},
		%opt);
}

sub ask {
	my ($t, $id, $what) = @_;
	my ($head) = $what =~ /^(\S+)/;

	$t->say("tell $id cdp $what");
	my ($answer) = $t->expect(qr/^worker $id cdp ($head.*)/);
	return $answer;
}

# What became of an attempt: DONE, or the name of the error.
sub outcome {
	my ($t, $id, $attempt) = @_;
	my ($outcome) = (ask($t, $id, $attempt) // '') =~ /: (.*)/;
	return $outcome // die "no answer to $attempt\n";
}

sub fails {
	my ($t, $attempt) = @_;
	my $outcome = outcome($t, 1, $attempt);

	like($outcome, qr/^E[A-Z0-9]+$/, "$attempt: $outcome");
}

# Where one uid is all there is, some things are not held; they are told.
sub fails_with_uids {
	my ($mode, $t, $attempt) = @_;

	return fails($t, $attempt) if $mode eq 'system';
	my $outcome = outcome($t, 1, $attempt);
	note("user mode: $attempt: $outcome");
}

sub works {
	my ($t, $attempt) = @_;
	is(outcome($t, 1, $attempt), 'DONE', "$attempt, which it may");
}

sub pids {
	my ($t, $id) = @_;
	$t->say("tell $id who");
	my ($pid) = $t->expect(qr/^worker $id me \d+ \d+ \d+ \d+ (\d+)/);
	return $pid;
}

my $browser = qr/--remote-/;
my $describer = qr/^workerd --describe/;

sub called {
	my ($i, $re) = @_;
	return grep { $_->{cmd} =~ $re } tree($i->{pid});
}

# A cell is ready before its browser has its name.
sub wait_for_names {
	my ($i) = @_;
	ok(wait_until(60, sub { called($i, $browser) == 2
		    && called($i, $describer) }), 'all have their names')
	    or diag explain [ tree($i->{pid}) ];
}

# Who runs as whom: nobody as somebody else, and never as the launcher.
sub test_uids {
	my ($i) = @_;
	my ($base) = map { $_->{uid} } grep { $_->{cmd} =~ /^supervisord/ }
	    tree($i->{pid});
	my %of;

	for my $p (tree($i->{pid})) {
		my ($name) = $p->{cmd} =~ m{^([\w-]+)};
		$of{$name}{ $p->{uid} - $base } = 1;
	}
	is_deeply({ map { $_ => join ' ', sort { $a <=> $b } keys %{ $of{$_} } }
	    keys %of },
	    { supervisord => '0', egressd => '2', cell => '1',
		workerd => '9 10 11', chromium => '33 34' },
	    'uids: supervisord 0, cells 1, egressd 2, each worker and browser '
	    . 'its own');
}

# Each cell has one, also that of a worker alone.
sub test_networks {
	my ($i) = @_;
	my %seen = map { $_ => 1 } readlink '/proc/self/ns/net',
	    map { readlink "/proc/$_->{pid}/ns/net" }
	    called($i, $browser), called($i, $describer);

	is(scalar keys %seen, 4, 'three cells have three networks, and the '
	    . 'machine\'s is none of them') or diag explain \%seen;
}

# Worker, cell and whoever else there is.
sub test_processes {
	my ($mode, $t, $worker) = @_;

	for my $pid ($worker, 1) {
		fails($t, "try $_ $pid") for qw(attach seize);
		fails($t, "try vm $pid $_") for qw(read write);
		fails($t, "try getfd $pid $_") for 0, 3;
		fails($t, "try $_ /proc/$pid/mem") for qw(read write);
		fails($t, "try read /proc/$pid/$_")
		    for qw(environ maps auxv stack syscall);
		fails($t, "try list /proc/$pid/$_")
		    for qw(fd root cwd map_files root/etc cwd/tmp);
		fails($t, "try write /proc/$pid/oom_score_adj");
		fails($t, "try setns /proc/$pid/ns/$_")
		    for qw(mnt net pid user ipc uts cgroup);
		fails($t, "try unlink /proc/$pid/exe");
	}
	# The worker is needed below.
	my $ends = $mode eq 'user' && landlock() < LANDLOCK_SIGNALS;
	fails_with_uids($mode, $t, "try kill $worker $_")
	    for 0, $ends ? () : (9, 15, 19);
	note('this kernel\'s Landlock knows no signals: a worker can be ended')
	    if $ends;
	fails_with_uids($mode, $t, "try pidfd $worker 0");
	fails_with_uids($mode, $t, "try kill 1 0");
	fails_with_uids($mode, $t, "try $_ $worker")
	    for qw(prlimit priority affinity);
	fails_with_uids($mode, $t, "try read /proc/$_/cmdline")
	    for $worker, 1;
	fails_with_uids($mode, $t, "try read /proc/$_/status")
	    for $worker, 1;
	# Init of a PID namespace gets no signal from within that it has not
	# asked for; the success of kill(2) says nothing.
	outcome($t, 1, 'try kill 1 9');
	ok($t->say('check 1') && $t->expect(qr/^sandbox 1 0 /),
	    'the cell lives after kill 1 9, and there is no renderer');
}

sub test_files {
	my ($i, $t) = @_;
	my $usr = '/usr/bin/env';

	works($t, "try read $usr");
	works($t, 'try create /tmp/browsertask-profile/file');
	works($t, 'try create /tmp/file');
	works($t, 'try create /dev/shm/file');
	works($t, 'try read /dev/zero');
	fails($t, "try list $_")
	    for $i->state_dir, $i->run_dir, $i->dir, '/home', '/root', '/run',
	    '/boot', '/sys', '/opt', '/srv', '/mnt', '/media', '/var/lib',
	    '/var/log', '/var/run', '/etc/ssl/private', '/etc/ssh', '/etc/init.d',
	    '/var/cache/apt', '/proc/self/root/home', '/../../home';
	fails($t, "try read $_")
	    for $i->conf, '/etc/passwd', '/etc/shadow', '/etc/group',
	    '/etc/hostname', '/etc/machine-id', '/etc/environment',
	    '/proc/self/root/etc/passwd', '/dev/mem', '/dev/kmsg', '/dev/tty',
	    '/dev/ptmx', '/dev/fuse', '/dev/kvm', '/dev/vda', '/dev/sda',
	    '/proc/kcore', '/proc/kpageflags', "$build/config.status",
	    map { "/proc/$_" } qw(config.gz interrupts iomem ioports kallsyms
	    key-users keys modules);
	fails($t, "try list $_") for qw(/usr/local/bin /usr/local/share/man);
	fails($t, "try create $_")
	    for qw(/x /dev/x /etc/x /usr/x /usr/bin/x /var/x /var/cache/x
	    /proc/x /usr/local/x /var/cache/fontconfig/x);
	fails($t, "try mkdir $_") for qw(/x /etc/x /usr/lib/x);
	fails($t, "try $_ $usr") for qw(write unlink chmod);
	fails($t, "try write $build/t/launch/hostile");
	fails($t, 'try write /proc/self/exe');
	fails($t, "try write /proc/$_")
	    for qw(sysrq-trigger sys/kernel/core_pattern sys/kernel/hostname
	    sys/vm/drop_caches sys/net/ipv4/ip_forward);
	fails($t, 'try mknod /tmp/disk');
	fails($t, 'try handle /usr');
}

sub test_privileges {
	my ($t, $uid) = @_;

	fails($t, "try uid $_") for 0, $uid - 24, $uid + 1;
	fails($t, "try gid $_") for 0, $uid + 1;
	fails($t, 'try groups 0');
	fails($t, 'try caps');
	fails($t, "try setuid $_") for qw(/usr/bin/su /tmp / /dev/shm);
	fails($t, 'try hostname evil');
	fails($t, 'try mount / /tmp');
	fails($t, "try mounttype $_ /tmp")
	    for qw(tmpfs proc sysfs devtmpfs cgroup2 debugfs);
	fails($t, 'try device /dev/vda /tmp');
	fails($t, "try remount $_") for qw(/ /usr /proc);
	fails($t, "try umount $_") for qw(/ /usr /proc /tmp /dev/null);
	fails($t, 'try pivot /tmp');
	fails($t, 'try chroot /tmp/jail /home');
}

# With all capabilities there are in namespaces of its own, as Chromium's own
# sandbox uses them.
sub test_namespaces {
	my ($mode, $t) = @_;

	works($t, 'ns stat /usr');
	fails($t, "ns remount $_") for qw(/ /usr /etc/fonts /dev/null);
	fails($t, "ns umount $_")
	    for qw(/ /usr /proc /tmp /dev/null /etc/fonts);
	fails($t, 'ns pivot /tmp');
	fails($t, 'ns chroot /tmp/jail /home');
	fails($t, 'ns chroot /tmp/jail /etc/passwd');
	fails($t, "ns mounttype $_ /tmp")
	    for qw(proc sysfs devtmpfs debugfs securityfs cgroup2 nfs);
	fails($t, 'ns device /dev/vda /tmp');
	fails($t, 'ns mknod /tmp/disk');
	fails($t, 'ns handle /usr');
	fails($t, "ns setns /proc/1/ns/$_") for qw(mnt net pid user);
	fails($t, 'ns attach 1');
	fails_with_uids($mode, $t, 'ns prlimit 1');
	fails($t, "ns $_") for 'uid 1', 'gid 1', 'groups 0';
	fails($t, "ns create $_") for qw(/x /usr/x /etc/x);
	fails($t, 'ns write /proc/sysrq-trigger');
	fails($t, 'ns write /proc/sys/kernel/core_pattern');
	fails($t, 'ns read /dev/mem');
	fails($t, 'ns tcp 127.0.0.1 1080');
}

# The sockets of the service, of this test and of the machine.
sub test_sockets {
	my ($i, $t) = @_;
	my $dir = File::Temp::tempdir('bt-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	my $named = IO::Socket::UNIX->new(Local => "$dir/s", Listen => 1)
	    or die "listen: $!\n";

	chmod 0777, $dir, "$dir/s";
	fails($t, "try unix $_")
	    for $i->client_sock, $i->admin_sock, "$dir/s", '/run/dbus/system_bus_socket',
	    '/run/systemd/private', '/var/run/docker.sock';
	fails($t, "try $_") for qw(raw packet);
	fails($t, "try vsock $_ 1") for 0 .. 2;
	# Of netlink, devices alone: routes, packet filters, IPsec and their like are open
	# to who is root in a namespace of its own, and that is anybody.
	for my $as (qw(try ns)) {
		is(outcome($t, 1, "$as netlink $_"), 'EACCES',
		    "$as netlink $_: EACCES") for 0 .. 14, 16 .. 31;
		# The older door to packet filters.
		is(outcome($t, 1, "$as sockopt $_"), 'EACCES',
		    "$as sockopt $_: EACCES")
		    for '0 64', '0 65', '0 1000', '41 64', '41 69', '41 130';
		works($t, "$as sockopt 0 1");
		is(outcome($t, 1, "$as pair $_ 5"), 'EACCES',
		    "$as pair $_: EACCES") for 2, 10, 16, 17, 30, 31, 40, 44;
	}
	works($t, 'try pair 1 1');
}

# Nothing but the listener, which is egressd's.
sub test_network {
	my ($i, $t) = @_;
	my $tcp = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5)
	    or die "listen: $!\n";
	my $any = IO::Socket::INET->new(LocalAddr => '0.0.0.0', Listen => 5)
	    or die "listen: $!\n";
	my $udp = IO::Socket::INET->new(LocalAddr => '0.0.0.0', Proto => 'udp')
	    or die "udp: $!\n";
	my $name = "browsertask-test-$$";
	socket(my $abstract, AF_UNIX, SOCK_STREAM, 0) or die;
	bind($abstract, pack_sockaddr_un("\0$name")) or die;
	listen($abstract, 5);
	my ($p, $q, $u) = map { $_->sockport } $tcp, $any, $udp;

	fails($t, "try tcp 127.0.0.1 $_") for $p, $q, 22;
	fails($t, "try tcp $_")
	    for "127.0.0.2 $q", "::ffff:127.0.0.1 $p", "0.0.0.0 $q", "::1 $q",
	    '169.254.169.254 80', '10.0.0.1 80', '192.168.0.1 80',
	    '192.0.2.1 443', '8.8.8.8 53', '2001:db8::1 443',
	    'fe80::1 80', 'fd00::1 80';
	fails($t, "try udp $_")
	    for '8.8.8.8 53', '192.0.2.1 443', '224.0.0.251 5353',
	    '255.255.255.255 67', '2001:db8::1 443', 'ff02::fb 5353';
	# Nobody is there, but loopback takes every datagram.
	outcome($t, 1, "try udp 127.0.0.1 $u");
	fails($t, "try abstract $name");
	works($t, 'try tcp 127.0.0.1 1080');
	$_->blocking(0) for $tcp, $any, $udp;
	ok(!$tcp->accept && !$any->accept && !defined $udp->recv(my $x, 10),
	    'and nothing arrived at any socket outside');
}

sub test_hostile {
	my ($mode) = @_;
	my $i = instance(mode => $mode)->start;
	my $t = BrowserTask::Talk->new($i);

	$t->up(1, BROWSER, worker => 1, browser => 1);
	$t->up(2, BROWSER, worker => 2, browser => 2);
	my $worker = pids($t, 1);
	my ($uid, $gid, $groups) =
	    ask($t, 1, 'ids') =~ /^ids (\d+) (\d+) (\d+)/;

	$t->up(3, DESCRIBE, worker => 3);
	wait_for_names($i);
	test_uids($i) if $mode eq 'system';
	test_networks($i) if $> == 0;
	is(ask($t, 1, 'fds'), 'fds 0,1,2,3,4,', 'it has five descriptors');
	is($gid, $uid, 'its gid is its uid') if $mode eq 'system';
	is($groups, 0, 'it has no groups') if $mode eq 'system';
	is(ask($t, 1, 'mounts'), 'mounts',
	    'all mounts are nosuid, nodev, and read-only or in memory');
	test_processes($mode, $t, $worker);
	test_files($i, $t);
	test_privileges($t, $uid);
	test_namespaces($mode, $t);
	test_sockets($i, $t);
	test_network($i, $t);
	ok(outcome($t, 2, 'try stat /tmp/file') eq 'ENOENT',
	    'another cell has another /tmp');
	pids($t, 2);
	is($i->stop, 0, 'the instance stops');
	is(left(60), '', 'and nothing is left');
}

# A browser that its user may write to: that must not go for what it starts.
sub test_own_program {
	my ($mode) = @_;
	my $dir = File::Temp::tempdir('bt-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	my $copy = "$dir/hostile";

	chmod 0777, $dir;
	File::Copy::copy("$build/t/launch/hostile", $copy) or die "copy: $!\n";
	chmod 0777, $copy;
	chown 65534, 65534, $copy if $> == 0 && $mode eq 'user';
	my $i = instance(mode => $mode, browser => $copy)->start;
	my $t = BrowserTask::Talk->new($i);
	$t->up(1, BROWSER);
	is(outcome($t, 1, 'try chmod /proc/self/exe'), 'EROFS',
	    'its program is read-only for it, whoever may write outside');
	fails($t, "try $_ $copy") for qw(write unlink chmod);
	fails($t, "try create $dir/other");
	is($i->stop, 0, 'stop');
}

# The answer of the real browser to one command.
sub command {
	my ($t, $json) = @_;
	my ($n) = $json =~ /"id":(\d+)/;

	$t->say("tell 1 cdp $json");
	my ($answer) = $t->expect(qr/^worker 1 cdp (\{"id":$n,.*)/, 30);
	return $answer // '';
}

sub time_zone {
	my ($mode, $tz) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode, env => { TZ => $tz },
		programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework",
		})->start;
	my $t = BrowserTask::Talk->new($i);

	$t->up(1, BROWSER);
	my ($target) = command($t, '{"id":1,"method":"Target.createTarget",'
	    . '"params":{"url":"about:blank"}}') =~ /"targetId":"(\w+)"/;
	my ($session) = command($t, '{"id":2,"method":"Target.attachToTarget",'
	    . "\"params\":{\"targetId\":\"$target\",\"flatten\":true}}")
	    =~ /"sessionId":"(\w+)"/;
	my ($zone) = command($t, "{\"id\":3,\"sessionId\":\"$session\","
	    . '"method":"Runtime.evaluate","params":{"expression":'
	    . '"Intl.DateTimeFormat().resolvedOptions().timeZone"}}')
	    =~ /"value":"([^"]+)"/;
	is($i->stop, 0, 'stop');
	return $zone;
}

sub test_time_zone {
	my ($mode) = @_;
	my ($machine) = (readlink '/etc/localtime' // '') =~ m{zoneinfo/(.*)};

	is(time_zone($mode, 'Asia/Tokyo'), 'Asia/Tokyo',
	    'pages have the time zone that the service was given');
  SKIP: {
		skip 'the machine has no time zone', 1 unless defined $machine;
		like(time_zone($mode, undef),
		    $machine =~ /UTC|UCT|GMT|Zulu|Universal/ ? qr/UTC|GMT/
		    : qr/^\Q$machine\E$/,
		    'or else the machine\'s');
	}
}

beside(mode_parts('hostile browser' => \&test_hostile,
	'own program' => \&test_own_program, 'time zone' => \&test_time_zone));
done_testing();
