#!/usr/bin/perl
# Programs of ours that were taken over, after they have confined themselves:
# the real launcher starts them as it always does, with their own filters, but
# what runs in their place is a payload (t/confine) that asks the kernel for what
# t/confine/attacks.def lists.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure);
use IO::Socket::UNIX;
use Test::More;

use constant {
	DESCRIBE => 2, SIGSYS => 31, EACCES => 13, ENOSYS => 38,
	AT_A_TIME => 20, PER_INSTANCE => 60, SESSION => '01ARZ3NDEKTSV4RRFFQ69G5FA',
};

my $build = $ENV{builddir} // die "builddir is not set\n";
my $srcdir = $ENV{srcdir} // '.';
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
my %attacks;

plan skip_all => 'sanitizers make calls of their own'
    if qx(nm -D $build/workerd/workerd 2>&1) =~ /__asan_init|__ubsan/;

open(my $table, '<', "$srcdir/t/confine/attacks.def") or die "attacks: $!\n";
while (<$table>) {
	next unless /^(KILLED|REFUSED|ALLOWED)\((\w+),/;
	push @{ $attacks{$1} }, $2;
}

sub instance {
	my ($mode, %programs) = @_;
	return BrowserTask::Harness->new(mode => $mode, programs => \%programs);
}

sub talk {
	my ($i) = @_;
	my $sock = wait_until(60, sub {
		IO::Socket::UNIX->new(Peer => $i->admin_sock);
	}) or die "connect: $!\n" . $i->log;
	return { sock => $sock, lines => lines($sock) };
}

# Workers on which each row is tried; what came of it by name: a signal, or the
# errno, 0 for success.
sub try_workers {
	my ($mode, @names) = @_;
	my (%seen, $n);

	while (my @some = splice @names, 0, PER_INSTANCE) {
		my $i = instance($mode,
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/confine/workerd")->start;
		my $t = talk($i);
		$n = 0;
		while (my @now = splice @some, 0, AT_A_TIME) {
			my %of = map { ++$n => $_ } @now;
			try_some($t, \%of, \%seen);
		}
		is($i->stop, 0, 'the instance ends');
	}
	return \%seen;
}

sub try_some {
	my ($t, $of, $seen) = @_;
	my $slot = 0;
	my %left = %$of;

	syswrite $t->{sock}, "spawn $_ " . $slot++ . ' 0 ' . DESCRIBE . ' '
	    . SESSION . "A\n" for sort { $a <=> $b } keys %$of;
	while (%left) {
		my $line = $t->{lines}->next(20) // last;
		if ($line =~ /^ready (\d+) /) {
			syswrite $t->{sock}, "tell $1 $of->{$1}\n";
		} elsif ($line =~ /^worker (\d+) .*?did (\w+) (-?\d+) (\d+)/) {
			$seen->{$2} = $3 == -1 ? "errno $4" : 'works';
			syswrite $t->{sock}, "kill $1\n";
		} elsif ($line =~ /^reaped (\d+) (-?\d+) (\w+)/) {
			$seen->{ $of->{$1} } //= 'signal ' . ($2 & 127);
			delete $left{$1};
		}
	}
}

sub judge {
	my ($who, $seen, $kind, $want) = @_;
	my @wrong;

	for my $name (@{ $attacks{$kind} }) {
		my $got = $seen->{$name} // 'nothing';
		note sprintf '%-12s %-20s %s', $who, $name, $got;
		push @wrong, "$name: $got" unless $got eq $want;
	}
	figure('%s: %d calls: %s', $who, scalar @{ $attacks{$kind} }, $want);
	is_deeply(\@wrong, [], "$who: $want");
}

sub workers {
	my ($mode) = @_;
	my $seen = try_workers($mode, map { @$_ } values %attacks);

	cmp_ok(@{ $attacks{KILLED} }, '>=', 31, 'many are forbidden');
	judge("$mode worker", $seen, 'KILLED', 'signal ' . SIGSYS);
	judge("$mode worker", $seen, 'REFUSED', 'errno ' . EACCES);
	judge("$mode worker", $seen, 'ALLOWED', 'works');
}

# One start per call: what was said about it in the log, and how it ended.
sub try_program {
	my ($mode, $name, $prepare, $end, %programs) = @_;
	my $i = instance($mode, %programs);

	$prepare->($i);
	$i->launch;
	my $got = wait_until(60, sub { $end->($i) }) // 'nothing';
	$i->stop('KILL');
	left(60);
	note sprintf '%-12s %-20s %s', "$mode $programs{name}", $name, $got;
	return $got;
}

# Files are held back by Landlock, all else by filters.
sub files_too {
	my ($wants) = @_;

	return if landlock();
	my @files = grep { $wants->{$_} eq 'errno ' . EACCES } keys %$wants;
	delete @$wants{@files};
SKIP: {
		skip 'this kernel has no Landlock', scalar @files;
	}
}

my %sup_wants = (
	(map { $_ => 'signal ' . SIGSYS } qw(execve fork clone3 socket_inet
	    socket_unix connect ptrace kill process_vm_readv mount setns unshare
	    mmap_exec bpf io_uring_setup pidfd_open setuid chmod)),
	openat => 'errno ' . EACCES, malloc => 'works');

sub supervisord {
	my ($mode) = @_;
	my %got;

	files_too(\%sup_wants);
	for my $name (sort keys %sup_wants) {
		$got{$name} = try_program($mode, $name, sub {
			$_[0]{env} = { BROWSERTASK_TEST_ATTACK => $name };
		}, sub {
			my $log = $_[0]->log;
			return "signal $1"
			    if $log =~ /supervisord was ended by signal (\d+)/;
			return unless $log =~ /did $name (-?\d+) (\d+)/;
			return $1 == -1 ? "errno $2" : 'works';
		}, name => 'supervisord',
		    supervisord => "$build/t/confine/supervisord");
	}
	is_deeply(\%got, \%sup_wants, "$mode supervisord: is held back");
}

my %cell_wants = map { $_ => 'signal ' . SIGSYS } qw(execve fork socket_inet
    socket_unix mount unshare setns ptrace mmap_exec openat_write bpf kill_stop
    io_uring_setup prctl);
$cell_wants{malloc} = 'works';

# It is told what to try by the one variable that comes through to it.
sub cell {
	my ($mode) = @_;
	my %got;

	for my $name (sort keys %cell_wants) {
		my ($t, $said);
		$got{$name} = try_program($mode, $name, sub {
			$_[0]{env} = { TZ => $name };
		}, sub {
			$t //= talk($_[0]);
			syswrite $t->{sock}, 'spawn 1 0 0 ' . DESCRIBE . ' '
			    . SESSION . "A\n" unless $said++;
			my $line = $t->{lines}->next(10) // return 'nothing';
			return 'signal ' . ($1 & 127)
			    if $line =~ /^reaped 1 (\d+) cell/;
			return unless $line =~ /did $name (-?\d+) (\d+)/;
			return $1 == -1 ? "errno $2" : 'works';
		}, name => 'cell', cell => "$build/t/confine/cell",
		    supervisord => "$build/t/launch/fakesup",
		    workerd => "$build/t/launch/fakework");
	}
	is_deeply(\%got, \%cell_wants, "$mode cell: is held back");
}

# It has the network, but no program, no process, no file that it could write,
# and listens nowhere.
my %egress_wants = (
	(map { $_ => 'signal ' . SIGSYS } qw(execve fork clone3 socket_unix
	    socket_netlink bind listen ptrace kill process_vm_readv pidfd_getfd
	    mount setns unshare mmap_exec mprotect_exec bpf io_uring_setup
	    pidfd_open setuid chmod unlink rename mkdir openat_write openat_proc
	    openat2 memfd_create dup pipe2 getdents64 prctl prlimit_other)),
	(map { $_ => 'errno ' . EACCES } qw(open openat stat access readlink)),
	(map { $_ => 'works' } qw(socket_inet malloc getrandom clock)));

sub egressd {
	my ($mode) = @_;
	my %got;

	files_too(\%egress_wants);
	for my $name (sort keys %egress_wants) {
		$got{$name} = try_program($mode, $name, sub {
			$_[0]{env} = { TZ => $name };
		}, sub {
			my $log = $_[0]->log;
			return "signal $1"
			    if $log =~ /egressd was ended by signal (\d+)/;
			return unless $log =~ /did $name (-?\d+) (\d+)/;
			return $1 == -1 ? "errno $2" : 'works';
		}, name => 'egressd', egressd => "$build/t/confine/egressd",
		    supervisord => "$build/t/launch/fakesup",
		    workerd => "$build/t/launch/fakework");
	}
	is_deeply(\%got, \%egress_wants, "$mode egressd: is held back");
}

# What all inherit of the launcher, seen by one that has no filter of its own.
sub launcher {
	my ($mode) = @_;
	my $i = instance($mode, supervisord => "$build/t/launch/fakesup",
		workerd => "$build/t/launch/fakework")->start;
	my $t = talk($i);
	my (%got, %want);

	like(file("/proc/$i->{pid}/status"), qr/^Seccomp:\s+2$/m,
		'the launcher has a filter');
	syswrite $t->{sock}, 'spawn 1 0 0 ' . DESCRIBE . ' ' . SESSION . "A\n";
	1 until ($t->{lines}->next(20) // 'worker') =~ /^worker/;
	for my $name (qw(bpf perf_event_open io_uring_setup userfaultfd keyctl
	    add_key kexec_load init_module finit_module swapon acct quotactl
	    clock_settime settimeofday syslog fanotify_init ptrace
	    process_vm_readv pidfd_getfd open_by_handle_at iopl)) {
		syswrite $t->{sock}, "tell 1 try $name\n";
		my $line;
		do { $line = $t->{lines}->next(20) // "did $name nothing" }
		    until $line =~ /did $name (.*)/;
		$got{$name} = $1;
		$want{$name} = '-1 ' . ENOSYS;
		note sprintf '%-12s %-20s %s', "$mode launcher", $name,
		    $got{$name};
	}
	is_deeply(\%got, \%want, 'calls that nobody needs are not there');
	is($i->stop, 0, 'the instance ends');
}

# What the kernel says about a worker that has not read a byte yet.
sub state_of_worker {
	my ($mode) = @_;
	my $i = instance($mode, supervisord => "$build/t/launch/fakesup",
		workerd => "$build/t/confine/workerd")->start;
	my $t = talk($i);

	syswrite $t->{sock}, 'spawn 1 0 0 ' . DESCRIBE . ' ' . SESSION . "A\n";
	my $worker;
	# Its own filter, which it loads last, not what all have from the
	# launcher.
	wait_until(60, sub {
		($worker) = grep { $_->{cmd} =~ /^workerd: / } tree($i->{pid});
		return $worker && filters($worker->{pid})
		    > filters($i->{pid});
	}) or fail('the worker loads its filter by itself');
	my $status = file("/proc/$worker->{pid}/status");
	my $limits = file("/proc/$worker->{pid}/limits");
	like($status, qr/^NoNewPrivs:\s+1$/m, 'no new privileges');
	like($status, qr/^CapEff:\s+0+$/m, 'no capability');
	like($limits, qr/^\Q$_\E\s+0\s+0\s/m, "\L$_: none")
	    for 'Max processes', 'Max open files', 'Max file size',
		'Max core file size';
	my ($sup) = grep { $_->{cmd} =~ /fakesup|^supervisord/ } tree($i->{pid});
	isnt(readlink "/proc/$worker->{pid}/ns/pid",
		readlink "/proc/$sup->{pid}/ns/pid", 'other processes');
	isnt($worker->{uid}, $sup->{uid}, 'another uid') if $mode eq 'system';
	is($i->stop, 0, 'the instance ends');
}

sub filters {
	my ($pid) = @_;
	return (file("/proc/$pid/status") =~ /^Seccomp_filters:\s+(\d+)$/m
	    ? $1 : 0);
}

sub file {
	my ($path) = @_;
	open(my $fh, '<', $path) or return '';
	local $/;
	return <$fh> // '';
}

# Of the real browser's children, those that pages can reach: zygotes and
# brokers hear none. What holds each beyond what holds the browser.
sub children {
	my ($mode) = @_;
	my $site = BrowserTask::Scenario::Site->new;
	my $i = BrowserTask::Harness->new(mode => $mode)->start;
	my $c = client($i);
	my $run = batch($c, [ map { $site->url($_) } '/article',
		'/never-headers' ], { mode => 'async' }, concurrency => 1);
	my %seen;

	ok(done($c, $run->{runId}, 1), "$mode: a page is read");
	my @tree = tree($i->{pid});
	my ($browser) = grep { $_->{cmd} =~ /--remote-debugging-pipe/
	    && $_->{cmd} !~ /--type=/ } @tree;
	my $own = filters($browser->{pid});
	for my $p (@tree) {
		my ($kind) = $p->{cmd} =~ /--type=(\S+)/ or next;
		my ($status, $n);
		next if $kind =~ /^(?:zygote|broker)$/;
		# One that is being started confines itself before it serves.
		wait_until(60, sub {
			$status = file("/proc/$p->{pid}/status");
			($n) = $status =~ /^Seccomp_filters:\s+(\d+)$/m;
			return !defined $n || $n > $own;
		});
		next if !defined $n;
		$seen{$kind}++;
		note sprintf '%-12s %-20s %d filters, the browser %d', $mode,
		    $kind, $n, $own;
		cmp_ok($n, '>', $own, "$kind: a filter of its own");
		like($status, qr/^Seccomp:\s+2$/m, "$kind: which is on");
		like($status, qr/^NoNewPrivs:\s+1$/m, "$kind: no new privileges");
		like($status, qr/^CapEff:\s+0+$/m, "$kind: no capability");
	}
	ok($seen{renderer}, 'a renderer is there');
	ok((grep { $_ ne 'renderer' } keys %seen), 'and others');
	$c->call('run.cancel', { runId => $run->{runId} });
	is($i->stop, 0, 'the instance ends');
	$site->stop;
}

# The filter of the real worker is there before it reads from anybody.
sub order {
	my $dir = instance((modes())[0])->dir;
	my ($filter, $first);

	# A file for each process, so that none interrupts a line of another.
	system("strace -ff -o $dir/trace -e trace=execve,seccomp,read,recvmsg,recvfrom,readv"
	    . " $build/t/scenario/workerdrive -b none -d -o $dir"
	    . " $build/workerd/workerd </dev/null >/dev/null 2>&1");
	my ($trace) = grep { m{^execve\("[^"]*/workerd"}m }
	    map { file($_) } glob "$dir/trace.*";
	my $n = 0;
	for (split /\n/, $trace // '') {
		$n++;
		$filter //= $n
		    if /seccomp\(SECCOMP_SET_MODE_FILTER, [^{]*, \{len=.* = 0$/;
		# The dynamic linker has no other descriptors either.
		$first //= $n if /^(?:read|recvmsg|recvfrom|readv)\([346],/
		    && !/"\\177ELF/;
	}
	ok(defined $filter && defined $first && $filter < $first,
		'the filter is there before the first byte is read')
	    or diag $trace // 'no trace of it';
}

# What is not there by then is a failure, not a reason to wait.
alarm 900;
beside(mode_parts(workers => \&workers, 'state of a worker' => \&state_of_worker,
	supervisord => \&supervisord, launcher => \&launcher,
	cell => \&cell, egressd => \&egressd, children => sub {
		plan skip_all => 'no Chromium is installed'
		    unless grep { -x } glob "$chromium/chromium{,-headless-shell}";
		children(@_);
	}),
    order => sub {
	plan skip_all => 'no strace'
	    if system('command -v strace >/dev/null') != 0;
	order();
    });
is(left(60), '', 'no process is left');
done_testing();
