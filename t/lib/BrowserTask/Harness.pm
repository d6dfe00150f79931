package BrowserTask::Harness;

# Starts private instances of browsertaskd for tests, and finds out whether
# anything of them is left. Core modules only.
#
#   use BrowserTask::Harness;
#
#   modes()              ('system', 'user') as root, else ('user')
#   wait_until($s, sub)  calls sub every 5 ms until it returns true or $s
#                        seconds are over; returns the last value
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
#     programs  => { supervisord => FILE, workerd => FILE, cell => FILE };
#                  default: those of the build tree
#     settings  => [ 'name=value', ... ]   warmCells is 0 unless it is here
#     conf      => TEXT   configuration file; default: an empty one
#     browser   => FILE   passed as -B
#     env       => { NAME => VALUE or undef }
#     args      => [ ... ]  more arguments
#     under     => [ ... ]  program that starts it, and its arguments
#     sockets   => { client => FH, admin => FH }   handed over as by systemd
#     state     => DIR, run => DIR   default: inside the private directory
#   $i->start            until it serves; dies with its log if it does not
#   $i->launch           starts, does not wait
#   $i->ready($s)        waits for the newline on --ready-fd; false: ended first
#   $i->stop($signal)    sends it (TERM), waits up to 15 s, returns the wait
#                        status, undef if it still runs
#   $i->wait($s)         waits for its end; as stop()
#   $i->{pid}            of the launcher, undef when not running
#   $i->dir state_dir run_dir admin_sock client_sock conf   paths
#   $i->configure($text) writes the configuration file anew
#   $i->log              what it and supervisord wrote to standard error
#   $i->ctl(@args)       runs browsertaskctl of the build tree as the same user
#                        against it; returns ($status, $stdout, $stderr)
#
# What a sanitizer says of an instance fails the test.
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
use Time::HiRes qw(time sleep);

our @EXPORT = qw(modes wait_until tree left lines);

use constant {
	PLAIN_UID => 65534,
	PR_SET_PDEATHSIG => 1,
	SANITIZER_STATUS => 99,
	PR_SET_CHILD_SUBREAPER => 36,
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

sub modes { return $> == 0 ? ('system', 'user') : ('user') }

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

sub process {
	my ($pid) = @_;
	my $text = slurp("/proc/$pid/status") // return;
	my %p = (pid => $pid);

	($p{ppid}) = $text =~ /^PPid:\s+(\d+)/m;
	($p{uid}) = $text =~ /^Uid:\s+(\d+)/m;
	($p{state}) = $text =~ /^State:\s+(\S)/m;
	($p{nspid}) = $text =~ /^NSpid:\s+(.*)/m;
	($p{name}) = $text =~ /^Name:\s+(.*)/m;
	return unless defined $p{ppid};
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
		my $p = process($pid) or next;
		push @{ $below{ $p->{ppid} } }, $p;
	}
	my @todo = ($root);
	while (defined(my $pid = shift @todo)) {
		for my $p (@{ $below{$pid} // [] }) {
			push @found, $p;
			push @todo, $p->{pid};
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
	push @settings, 'uidBase=' . (1879048192 + $test_pid % 4000 * 4096),
	    'uidBlocks=64'
	    if $self->{mode} eq 'system';
	# What has processes of its own would be in the way of counting them.
	push @settings, 'warmCells=0', @{ $self->{settings} };
	return (
		"$builddir/launcher/browsertaskd",
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
	my $line = $self->{ready}->next($seconds // 30);
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

	wait_until($seconds // 15, sub { reap(); defined $status{$pid} })
	    or return undef;
	$self->{pid} = undef;
	return $status{$pid};
}

sub stop {
	my ($self, $signal) = @_;

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
		exec "$builddir/ctl/browsertaskctl", @args
		    or POSIX::_exit(127);
	}
	wait_until(600, sub { reap(); defined $status{$pid} });
	my @result = (delete $status{$pid}, slurp("$out.out"),
	    slurp("$out.err"));
	unlink "$out.out", "$out.err";
	return @result;
}

# A worker's words are in the log at level debug only, its status is there
# always, as wait(2) has it.
sub sanitizer_spoke {
	my ($self) = @_;
	my $status = SANITIZER_STATUS << 8;
	my @lines = grep { /Sanitizer|runtime error:|status $status\b/ }
	    split /\n/, $self->log;

	print STDERR "# $_\n" for @lines;
	return @lines > 0;
}

END {
	if ($$ == $test_pid) {
		my $exit = $?;
		for my $i (@instances) {
			kill 'KILL', $i->{pid} if defined $i->{pid};
		}
		# What is still there then, the test itself has reported.
		if (left(5) ne '') {
			kill 'KILL', map { $_->{pid} } tree();
			left(5);
		}
		$exit ||= 1 if grep { sanitizer_spoke($_) } @instances;
		remove_tree($_->{dir}) for @instances;
		$? = $exit;
	}
}

package BrowserTask::Harness::Lines;

use Time::HiRes qw(time);

sub next {
	my ($self, $seconds) = @_;
	my $end = time + ($seconds // 10);

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
