package BrowserTask::Harness;

# Starts private instances of browsertaskd for tests, and finds out whether
# anything of them is left. Core modules only.
#
#   use BrowserTask::Harness;
#
#   modes()              ('system', 'user') as root, else ('user'); not what
#                        this machine lacks something for, as a container may
#                        that masks /proc: it says so, and a test that has no
#                        mode, or starts an instance of such a one, is skipped
#   landlock()           the version of the kernel's Landlock, 0: none
#   wait_until($s, sub)  calls sub every 5 ms until it returns true or $s
#                        seconds are over; returns the last value. What is to
#                        happen gets a minute here and wherever else a test
#                        waits: on a busy machine it may need that
#   tree($pid)           every living or dead process below $pid, as hashes
#                        { pid ppid uid state cmd nspid }, outermost first;
#                        without $pid: below this test
#   left($s, @keep)      waits up to $s seconds until nothing is left below
#                        this test but the trees of the pids in @keep; reaps
#                        what the instance's death made ours; returns what is
#                        left as text, '' when all is gone
#   lines($fh)           reader of lines with a deadline: ->next($s) returns a
#                        line without its end, undef at the end or too late
#
#   my $i = BrowserTask::Harness->new(%opt);
#     mode      => 'system' or 'user' (as root 'user' drops to uid 65534)
#     programs  => { supervisord => FILE, workerd => FILE, cell => FILE, ... };
#                  default: those of the build tree
#     launcher  => FILE   run in place of browsertaskd
#     settings  => [ 'name=value', ... ]   warmCells is 0 unless it is here
#     conf      => TEXT   configuration file; default: an empty one
#     browser   => FILE   passed as -B
#     scripted  => 1      workers do what inputs say (t/scenario/scripted.c),
#                  and the browser is none: a run takes milliseconds
#     env       => { NAME => VALUE or undef }
#     args      => [ ... ]  more arguments
#     under     => [ ... ]  program that starts it, and its arguments
#     sockets   => { client => FH, admin => FH }   handed over as by systemd
#     state     => DIR, run => DIR   default: inside the private directory
#   $i->start            until it serves; dies with its log if it does not
#   $i->launch           starts, does not wait
#   $i->ready($s)        waits for the newline on --ready-fd; false: ended first
#   $i->stop($signal)    sends it (TERM), waits up to 60 s, returns the wait
#                        status, undef if it still runs
#   $i->wait($s)         waits for its end; as stop()
#   $i->{pid}            of the launcher, undef when not running
#   $i->dir state_dir run_dir admin_sock client_sock conf   paths
#   $i->configure($text) writes the configuration file anew
#   $i->log              what it and supervisord wrote to standard error
#   $i->ctl(@args)       runs browsertaskctl of the build tree as the same user
#                        against it; returns ($status, $stdout, $stderr)
#
# What a sanitizer or a failed assertion says of an instance fails the test; so
# does a debugging port, or any other TCP socket on which a process of an
# instance listens when it is stopped or the test ends.
#
# Importing this module makes the test a subreaper. Everything is removed and
# every instance killed when the test ends, however it ends.

use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use Fcntl qw(F_SETFD);
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use IO::Handle;
use POSIX qw(:sys_wait_h setuid setgid);
use Test::More ();
use Time::HiRes qw(time sleep);

our @EXPORT = qw(modes landlock wait_until tree left lines);

use constant {
	PLAIN_UID => 65534,
	PR_SET_PDEATHSIG => 1,
	SANITIZER_STATUS => 99,
	PR_SET_CHILD_SUBREAPER => 36,
	LANDLOCK_CREATE_RULESET => 444, LANDLOCK_VERSION => 1,
};
my %prctl = (x86_64 => 157, aarch64 => 167, riscv64 => 167);
my $prctl = $prctl{(POSIX::uname())[4]} // die "prctl: unknown machine\n";

# Perl passes numbers to syscall() as they are.
sub prctl {
	my ($what, $value) = @_;
	return syscall($prctl, $what + 0, $value + 0, 0, 0, 0) == 0;
}

prctl(PR_SET_CHILD_SUBREAPER, 1) or die "subreaper: $!\n";

# So that END below is reached.
$SIG{$_} = sub { exit 1 } for qw(HUP INT PIPE TERM);

my $builddir = abs_path($ENV{builddir} // '.');
my $test_pid = $$;
my @instances;
my %status;    # of every child that was reaped

# Why no instance of that mode can be started here, '' if it can: what every
# compartment needs is tried, as the launcher does it.
sub lacks {
	my ($mode) = @_;
	my @drop = $> == 0 && $mode eq 'user' ? ('setpriv', '--clear-groups',
	    map { "--$_=" . PLAIN_UID } qw(reuid regid)) : ();
	my @user = $mode eq 'user' ? qw(--user --map-root-user) : ();

	# The parts of a test, and what it starts, need not try it again.
	return $ENV{"BROWSERTASK_TEST_LACKS_$mode"} //= do {
		open(my $fh, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @drop,
		    'unshare', @user, qw(--mount --pid --fork --mount-proc true))
		    or die "unshare: $!\n";
		my $said = join '', <$fh>;
		chomp $said;
		close $fh ? '' : "no service in $mode mode here: $said";
	};
}

# Ends the test, or the subtest that it is in, as skipped.
sub skip_rest {
	my ($why) = @_;
	my $test = Test::More->builder;

	$test->skip_all($why) if $test->current_test == 0;
	$test->skip($why);
	$test->done_testing;
	exit 0;
}

sub modes {
	my @all = $> == 0 ? ('system', 'user') : ('user');
	my @can = grep { lacks($_) eq '' } @all;

	skip_rest(lacks($all[0])) if !@can;
	Test::More->builder->note(lacks($_)) for grep { lacks($_) ne '' } @all;
	return @can;
}

sub landlock {
	my $version =
	    syscall(LANDLOCK_CREATE_RULESET, 0, 0, LANDLOCK_VERSION);
	return $version > 0 ? $version : 0;
}

sub wait_until {
	my ($seconds, $sub) = @_;
	my $end = time + $seconds;
	my $value;

	until ($value = $sub->()) {
		last if time > $end;
		sleep 0.005;
	}
	return $value;
}

sub slurp {
	my ($path) = @_;
	open(my $fh, '<', $path) or return undef;
	local $/;
	return scalar <$fh>;
}

# What there is to know of a process that is below the test, from its stat.
sub process {
	my ($pid, $name, $state, $ppid) = @_;
	my $text = slurp("/proc/$pid/status") // return;
	my %p = (pid => $pid, ppid => $ppid, state => $state, name => $name);

	($p{uid}) = $text =~ /^Uid:\s+(\d+)/m;
	($p{nspid}) = $text =~ /^NSpid:\s+(.*)/m;
	$p{cmd} = slurp("/proc/$pid/cmdline") // '';
	$p{cmd} =~ tr/\0/ /;
	$p{cmd} = "[$p{name}]" if $p{cmd} eq '';
	return \%p;
}

sub tree {
	my ($root) = @_;
	my (%below, @found);

	$root //= $test_pid;
	opendir(my $dh, '/proc') or die "/proc: $!\n";
	for my $pid (grep { /^\d+$/ } readdir $dh) {
		my @stat = (slurp("/proc/$pid/stat") // next)
		    =~ /^\d+ \((.*)\) (\S) (\d+)/s or next;
		push @{ $below{ $stat[2] } }, [ $pid, @stat ];
	}
	my @todo = ($root);
	while (defined(my $pid = shift @todo)) {
		for my $stat (@{ $below{$pid} // [] }) {
			push @todo, $stat->[0];
			push @found, process(@$stat) // next;
		}
	}
	return @found;
}

sub reap {
	while ((my $pid = waitpid(-1, WNOHANG)) > 0) {
		$status{$pid} = $?;
	}
}

sub left {
	my ($seconds, @keep) = @_;
	my @left;

	wait_until($seconds, sub {
		reap();
		my %keep = map { $_ => 1 } @keep;
		@left = ();
		for my $p (tree()) {
			$keep{ $p->{pid} } = 1 if $keep{ $p->{ppid} };
			push @left, $p unless $keep{ $p->{pid} };
		}
		return !@left;
	});
	return join "\n",
	    map { "$_->{pid} ppid $_->{ppid} $_->{state} $_->{cmd}" } @left;
}

sub listening {
	my ($root) = @_;
	my (@found, $seen);

	for my $p ({ pid => $root, cmd => "pid $root" }, tree($root)) {
		my %listens;
		for my $table (glob "/proc/$p->{pid}/net/{tcp,tcp6}") {
			open(my $fh, '<', $table) or next;
			while (my $line = <$fh>) {
				my @f = split ' ', $line;
				$listens{ $f[9] } = $f[1] if $f[3] eq '0A';
			}
		}
		for my $link (glob "/proc/$p->{pid}/fd/*") {
			my $to = readlink $link // next;
			$seen++;
			push @found, "$p->{cmd} $listens{$1}"
			    if $to =~ /^socket:\[(\d+)\]/ && $listens{$1};
		}
	}
	return wantarray ? (join("\n", @found), $seen) : join "\n", @found;
}

sub lines {
	my ($fh) = @_;
	return bless { fh => $fh, text => '' }, 'BrowserTask::Harness::Lines';
}

sub new {
	my ($class, %opt) = @_;
	my $self = bless {
		mode => (modes())[0],
		programs => {},
		settings => [],
		conf => '',
		args => [],
		env => {},
		%opt,
	}, $class;

	skip_rest(lacks($self->{mode})) if lacks($self->{mode}) ne '';
	if ($self->{scripted}) {
		$self->{programs}{workerd} //= "$builddir/t/scenario/scripted";
		$self->{browser} //= "$builddir/t/launch/fake-headless-shell";
	}
	$self->{dir} = tempdir('bt-XXXXXX', TMPDIR => 1, CLEANUP => 0);
	$self->{drop} = $> == 0 && $self->{mode} eq 'user';
	mkdir "$self->{dir}/$_" or die "$_: $!\n" for qw(lib home);
	for my $name (qw(supervisord egressd workerd cell)) {
		symlink $self->{programs}{$name} // "$builddir/$name/$name",
		    "$self->{dir}/lib/$name" or die "$name: $!\n";
	}
	if ($self->{drop}) {
		chown PLAIN_UID, PLAIN_UID, $self->{dir}, "$self->{dir}/home";
	} else {
		chmod 0755, $self->{dir};
	}
	$self->configure($self->{conf});
	$self->{state} //= "$self->{dir}/state";
	$self->{run} //= "$self->{dir}/run";
	push @instances, $self;
	return $self;
}

sub dir { return $_[0]{dir} }
sub conf { return "$_[0]{dir}/browsertaskd.conf" }
sub state_dir { return $_[0]{state} }
sub run_dir { return $_[0]{run} }
sub admin_sock { return "$_[0]{run}/admin.sock" }
sub client_sock { return "$_[0]{run}/client.sock" }
sub log { return slurp("$_[0]{dir}/log") // '' }

sub configure {
	my ($self, $text) = @_;
	my $new = $self->conf . '.new';

	open(my $fh, '>', $new) or die "$new: $!\n";
	print $fh $text;
	close $fh or die "$new: $!\n";
	chmod 0644, $new;
	rename $new, $self->conf or die "$new: $!\n";
}

sub command {
	my ($self, $ready_fd) = @_;
	my @settings;

	# Blocks of the test's own: an instance ends what is left in its block, and
	# that must never be another test's.
	push @settings, 'uidBase=' . (2000000000 + $test_pid % 32768 * 4096),
	    'uidBlocks=64'
	    if $self->{mode} eq 'system';
	# What has processes of its own would be in the way of counting them.
	push @settings, 'warmCells=0', @{ $self->{settings} };
	return (
		$self->{launcher} // "$builddir/launcher/browsertaskd",
		'-s', $self->{state}, '-r', $self->{run},
		'-P', "$self->{dir}/lib", '-f', $self->conf,
		(defined $self->{browser} ? ('-B', $self->{browser}) : ()),
		(map { ('-o', $_) } @settings),
		'--ready-fd', $ready_fd,
		@{ $self->{args} });
}

# In the child: the user, directory and environment of the instance.
sub become {
	my ($self) = @_;

	delete @ENV{
	    qw(XDG_CONFIG_HOME XDG_RUNTIME_DIR XDG_STATE_HOME NOTIFY_SOCKET LISTEN_PID
	    LISTEN_FDS LISTEN_FDNAMES BROWSERTASK_SOCKET)};
	$ENV{HOME} = "$self->{dir}/home";
	$ENV{ASAN_OPTIONS} = 'exitcode=' . SANITIZER_STATUS;
	for my $name (keys %{ $self->{env} }) {
		my $value = $self->{env}{$name};
		defined $value ? $ENV{$name} = $value : delete $ENV{$name};
	}
	if ($self->{drop}) {
		$) = PLAIN_UID . ' ' . PLAIN_UID;
		setgid(PLAIN_UID);
		setuid(PLAIN_UID) or POSIX::_exit(126);
	}
	chdir '/';
}

# As systemd does: from 3 on, with their names. $ready moves out of the way.
sub pass_sockets {
	my ($sockets, $ready) = @_;
	my @names = sort keys %$sockets;
	my @copies = map { POSIX::dup(fileno $_) } $ready,
	    map { $sockets->{$_} } @names;

	POSIX::dup2(shift @copies, 50);
	POSIX::dup2($copies[$_], 3 + $_) for 0 .. $#copies;
	open($_[1], '>&=', 50);
	fcntl($_[1], F_SETFD, 0);
	$ENV{LISTEN_PID} = $$;
	$ENV{LISTEN_FDS} = @names;
	$ENV{LISTEN_FDNAMES} = join ':', @names;
}

sub launch {
	my ($self) = @_;

	pipe(my $r, my $w) or die "pipe: $!\n";
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0) {
		# As a service manager does: where each session has its share of
		# the processors, who asks does not have that of the browsers.
		POSIX::setsid();
		open(STDIN, '<', '/dev/null');
		open(STDERR, '>>', "$self->{dir}/log");
		$self->become;
		prctl(PR_SET_PDEATHSIG, 15);
		fcntl($w, F_SETFD, 0);
		pass_sockets($self->{sockets}, $w) if $self->{sockets};
		my @command = (@{ $self->{under} // [] },
		    command($self, fileno $w));
		exec { $command[0] } @command or POSIX::_exit(127);
	}
	close $w;
	delete $status{$pid};
	$self->{pid} = $pid;
	$self->{ready} = lines($r);
	return $self;
}

sub ready {
	my ($self, $seconds) = @_;
	my $line = $self->{ready}->next($seconds // 60);
	return defined $line;
}

sub start {
	my ($self) = @_;

	$self->launch;
	$self->ready or die "browsertaskd does not serve:\n" . $self->log;
	return $self;
}

sub wait {
	my ($self, $seconds) = @_;
	my $pid = $self->{pid} // return undef;

	wait_until($seconds // 60, sub { reap(); defined $status{$pid} })
	    or return undef;
	$self->{pid} = undef;
	return $status{$pid};
}

# Some tests start an instance below other programs.
sub look_for_ports {
	my ($self) = @_;
	my $ours = qr/browsertaskd|supervisord|egressd|workerd|cell|chrom/;
	my @tree = grep { $_->{cmd} =~ $ours } tree($self->{pid});

	push @{ $self->{ports} }, map { "$_->{pid} $_->{cmd}" }
	    grep { $_->{cmd} =~ /remote-debugging-port/ } @tree;
	push @{ $self->{ports} }, grep { $_ =~ $ours }
	    split /\n/, listening($self->{pid});
}

sub stop {
	my ($self, $signal) = @_;

	$self->look_for_ports if defined $self->{pid};
	kill $signal // 'TERM', $self->{pid} if defined $self->{pid};
	return $self->wait;
}

sub ctl {
	my ($self, @args) = @_;
	my $out = "$self->{dir}/ctl.$$." . ++$self->{ctls};

	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0) {
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', "$out.out") or POSIX::_exit(126);
		open(STDERR, '>', "$out.err") or POSIX::_exit(126);
		$self->become;
		$ENV{BROWSERTASK_SOCKET} = $self->client_sock;
		exec $self->{programs}{browsertaskctl}
		    // "$builddir/ctl/browsertaskctl", @args
		    or POSIX::_exit(127);
	}
	wait_until(600, sub { reap(); defined $status{$pid} });
	my @result = (delete $status{$pid}, slurp("$out.out"),
	    slurp("$out.err"));
	unlink "$out.out", "$out.err";
	return @result;
}

# A sanitizer or an assertion. A worker's words are in the log at level debug
# only, its status is there always, as wait(2) has it.
sub bug_spoke {
	my ($self) = @_;
	my $status = SANITIZER_STATUS << 8;
	my @lines = grep { /Sanitizer|runtime error:|status $status\b|: panic: / }
	    split /\n/, $self->log;

	print STDERR "# $_\n" for @lines;
	return @lines > 0;
}

END {
	if ($$ == $test_pid) {
		my $exit = $?;
		$_->look_for_ports for grep { defined $_->{pid} } @instances;
		# The test's own helpers, then the instances.
		my %ours = map { $_ => 1 } grep { defined }
		    map { $_->{pid} } @instances;
		my @helpers = map { $_->{pid} }
		    grep { !($ours{ $_->{pid} } ||= $ours{ $_->{ppid} }) }
		    tree();
		kill 'KILL', @helpers, grep { defined }
		    map { $_->{pid} } @instances;
		# What is still there then, the test itself has reported.
		if (left(5) ne '') {
			kill 'KILL', map { $_->{pid} } tree();
			left(60);
		}
		$exit ||= 1 if grep { bug_spoke($_) } @instances;
		for my $port (map { @{ $_->{ports} // [] } } @instances) {
			print STDERR "# listens: $port\n";
			$exit ||= 1;
		}
		remove_tree($_->{dir}) for @instances;
		$? = $exit;
	}
}

package BrowserTask::Harness::Lines;

use Time::HiRes qw(time);

sub next {
	my ($self, $seconds) = @_;
	my $end = time + ($seconds // 60);

	while ($self->{text} !~ /\n/) {
		my $rest = $end - time;
		return undef if $rest <= 0;
		my $bits = '';
		vec($bits, fileno $self->{fh}, 1) = 1;
		next unless select($bits, undef, undef, $rest);
		sysread($self->{fh}, $self->{text}, 65536,
		    length $self->{text}) or return undef;
	}
	$self->{text} =~ s/^(.*?)\n//s;
	return $1;
}

1;
