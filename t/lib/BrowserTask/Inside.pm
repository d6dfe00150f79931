# Inside: what the scripts use that run within a system booted for a test
# (t/scenario/systemd.t, t/scenario/groups.t): its service, of the system or of
# one user, and who asks it. Core modules only.
package BrowserTask::Inside;
use strict;
use warnings;
use Exporter qw(import);
use JSON::PP ();
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(in_time processes put say_it slurp);

use constant { UNIT => 'browsertaskd.service', UID => 31415 };
my $bin = -x '/usr/local/bin/browsertaskctl' ? '/usr/local/bin' : '/usr/bin';

sub say_it { printf "%s: %s\n", shift, join(' ', @_) }

sub slurp {
	my ($path) = @_;
	open(my $in, '<', $path) or return '';
	local $/;
	return scalar(<$in>) // '';
}

sub put {
	my ($path, $text) = @_;
	open(my $fh, '>', $path) or die "$path: $!\n";
	print $fh $text;
	close $fh;
	chmod 0644, $path;
}

# What the sub returned last.
sub in_time {
	my ($seconds, $sub) = @_;
	my $end = time + $seconds;
	my $got;
	sleep 0.1 until ($got = $sub->()) || time > $end;
	return $got;
}

# With the names of the service's programs, and of some uid if one is given.
sub processes {
	my ($uid) = @_;
	my @found;

	for my $dir (glob '/proc/[0-9]*') {
		my $owner = (stat $dir)[4] // next;
		my $status = slurp("$dir/status");
		push @found, $dir =~ s{/proc/}{}r
		    if (!defined $uid || $owner == $uid) && $status !~
		    /^State:\s+Z/m && $status =~ /^Name:\s+(?:browsertaskd
		    |supervisord|egressd|cell|workerd|scripted
		    |chrom\S*|headless_shell|fake-\S*|hog)$/mx;
	}
	return @found;
}

# user => 1: of the user plain, who is made here. socket: where, if not where
# clients look.
sub new {
	my ($class, %opt) = @_;
	my $self = bless { as => [], manager => [], %opt }, $class;

	if ($self->{user}) {
		make_user();
		$self->{as} = [ 'setpriv', '--reuid=' . UID, '--regid=' . UID,
		    '--clear-groups', 'env', '-u', 'BROWSERTASK_SOCKET',
		    'HOME=/home/plain', 'XDG_RUNTIME_DIR=/run/user/' . UID ];
		$self->{manager} = ['--user'];
	}
	return $self;
}

sub make_user {
	my $passwd = slurp('/etc/passwd');

	return if $passwd =~ /^plain:/m;
	put('/etc/passwd', $passwd . 'plain:*:' . UID . ':' . UID
	    . "::/home/plain:/bin/sh\n");
	put('/etc/group', slurp('/etc/group') . 'plain:x:' . UID . ":\n");
	mkdir $_ for '/home', '/home/plain';
	chown UID, UID, '/home/plain';
}

sub quietly { return system("@_ >&2") >> 8 }

# The user's manager, as at a login: there as long as the machine, where there
# is what knows users. Says which it was, or that it is not there.
sub linger {
	my $unit = 'user@' . UID . '.service';
	my $runtime = 'user-runtime-dir@' . UID . '.service';

	if (quietly('systemctl start dbus.socket systemd-logind') == 0 &&
	    quietly('loginctl enable-linger plain') == 0) {
		return in_time(20, sub { quietly("systemctl -q is-active $unit")
		    == 0 }) ? 'lingers' : 'does not linger';
	}
	# What logind and PAM do for it.
	for ([ $unit, "PAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n" ],
	    [ $runtime, "ExecStart=\nExecStart=/usr/bin/install -d -m 700 -o %i"
		. " -g %i /run/user/%i\nExecStop=\n" ]) {
		system("mkdir -p /run/systemd/system/$_->[0].d");
		put("/run/systemd/system/$_->[0].d/test.conf",
		    "[Service]\n$_->[1]");
	}
	quietly('systemctl daemon-reload');
	return quietly("systemctl start $unit") == 0 ? 'runs' : 'fails';
}

sub manager {
	my ($self, $verb) = @_;
	return quietly("systemctl $verb user@" . UID . '.service');
}

# Standard output of a command, as who the service is for; its status is in $?.
sub out {
	my ($self, @command) = @_;
	my $pid = open(my $from, '-|') // die "fork: $!\n";

	if ($pid == 0) {
		exec(@{ $self->{as} }, @command) or exit 127;
	}
	local $/;
	my $text = <$from> // '';
	close $from;
	$? >>= 8;
	return $text;
}

sub systemctl {
	my ($self, @args) = @_;

	print STDERR "+ systemctl @{$self->{manager}} @args\n";
	print STDERR $self->out('systemctl', @{ $self->{manager} }, @args);
	return $?;
}

sub show {
	my ($self, $what) = @_;
	my $value = $self->out('systemctl', @{ $self->{manager} }, 'show',
	    '-P', $what, UNIT);
	chomp $value;
	return $value;
}

sub active { return $_[0]->show('ActiveState') }
sub pid { return $_[0]->show('MainPID') }
sub group { return '/sys/fs/cgroup' . $_[0]->show('ControlGroup') }

# Another process of the service, when it serves.
sub pid_after {
	my ($self, $old) = @_;

	return in_time(60, sub {
		my $pid = $self->pid;
		return $pid > 0 && $pid != $old && $self->active eq 'active' ?
		    $pid : 0;
	});
}

sub supervisord {
	my ($self) = @_;
	my ($pid) = qx(pgrep -x supervisord -P ${\$self->pid}) =~ /(\d+)/;
	return $pid // 0;
}

sub ctl {
	my ($self, @args) = @_;

	return $self->out("$bin/browsertaskctl", defined $self->{socket} ?
	    ('--socket', $self->{socket}) : (), @args);
}

sub json {
	my ($self, @args) = @_;
	return eval { JSON::PP->new->utf8->decode($self->ctl(@args, '--json')) }
	    // {};
}

sub submit {
	my ($self, $template, $inputs) = @_;

	put('/run/inputs.json', JSON::PP->new->utf8->encode($inputs));
	return $self->json('submit', $template, '@/run/inputs.json')->{runId}
	    // 'none';
}

sub run { return $_[0]->json('show', $_[1]) }
sub status { return $_[0]->run($_[1])->{status} // 'unknown' }

sub ended {
	my ($self, $id) = @_;
	my $run;

	# Its service may go away meanwhile, and come again.
	in_time(90, sub {
		$self->ctl('wait', $id);
		$run = $self->run($id);
		return ($run->{status} // '') =~
		    /^(?:succeeded|partial_success|failed|canceled|timeout)$/;
	});
	return $run;
}

sub journal {
	print STDERR qx(journalctl --no-pager -o cat -n 200 _COMM=browsertaskd + _COMM=supervisord + _COMM=egressd);
}

1;
