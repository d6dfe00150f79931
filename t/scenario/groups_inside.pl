# Runs as root inside the machine of t/scenario/groups.t, whose kernel has the
# controllers of control groups: programs that want too much, in runs of a
# service of the system or of one user. Prints what became of each thing tried,
# a line each.
use strict;
use warnings;
use BrowserTask::Inside qw(in_time put say_it slurp);

$| = 1;
my ($base, $kind, @hogs) = @ARGV;
my $owner = $$;
my $s = BrowserTask::Inside->new($kind eq 'user' ? (user => 1)
    : (socket => '/run/browsertask/client.sock'));
my $group;
END { $s->journal if $$ == $owner }

# A worker that does what inputs say, a browser that can want too much.
sub configure {
	my $dir = '/etc/systemd/' . ($s->{user} ? 'user' : 'system')
	    . '/browsertaskd.service.d';

	system("mkdir -p $dir /run/lib");
	for my $name (qw(supervisord egressd cell)) {
		symlink "/usr/local/libexec/browsertask/$name",
		    "/run/lib/$name";
	}
	symlink "$base/scripted", '/run/lib/workerd';
	put("$dir/test.conf", "[Service]\nExecStart=\n"
	    . "ExecStart=/usr/local/sbin/browsertaskd -P /run/lib"
	    . " -B $base/fake-headless-shell -f /run/test.conf"
	    . ($s->{user} ? '' : ' -s /var/lib/browsertask -r /run/browsertask')
	    . "\nExecReload=\nExecReload=/bin/kill -USR2 \$MAINPID\n");
	settings();
	$s->systemctl('daemon-reload');
}

sub settings {
	my %is = (warmCells => 0, runMemoryBytes => 268435456,
	    runProcesses => 128, pingMs => 60000, silentMs => 600000,
	    browserStartMs => 120000, @_);
	put('/run/test.conf', join('', map { "$_ = $is{$_}\n" } sort keys %is));
}

sub cells { return map { m{([^/]+)$} } glob "$group/cell-*" }

sub number {
	my ($file, $key) = @_;
	return slurp("$group/$file") =~ /^$key (\d+)/m ? $1 : 'none';
}

# A run that has begun, and the group it is in.
sub begin {
	my ($template, @do) = @_;
	my %before = map { $_ => 1 } cells();
	my $id = $s->submit($template, { do => \@do });
	my $cell;

	in_time(60, sub { ($cell) = grep { !$before{$_} } cells() });
	in_time(60, sub { $s->status($id) ne 'queued' });
	return ($id, $cell // 'none');
}

sub cancel {
	my ($id) = @_;
	$s->ctl('cancel', $id);
	return $s->ended($id)->{status};
}

# How it ended, and what is left of its group beside another's.
sub end_of {
	my ($id, $cell) = @_;
	my $r = $s->ended($id);
	my $e = $r->{error} // {};
	my ($message) = ($e->{message} // '') =~
	    /^the run (?:used|had) (.* the limit is [\w ]+) \(/;

	$message =~ s/(\d+)( ms)/$1 > 2000 ? 'much' : $1 . $2/e
	    if defined $message;
	in_time(20, sub { !-d "$group/$cell" });
	return ($r->{status}, $e->{details}{cause} // $e->{errorCode} // '-',
	    ($message // $e->{message} // '-') . ',', 'group',
	    -d "$group/$cell" ? 'left,' : 'gone,');
}

# Of the runs that are submitted from then on.
sub limit_time {
	my ($ms) = @_;

	settings(runCpuMs => $ms);
	$s->systemctl('kill', '-s', 'HUP', '--kill-who=main', 'browsertaskd');
	in_time(30, sub { $s->ctl('status', '--json') =~
	    /"runCpuMs"\s*:\s*$ms\b/ });
}

sub try_hog {
	my ($what) = @_;
	my ($beside) = begin('fragile', 'hold');
	my $before = number('memory.events', 'oom_group_kill');

	limit_time(2000) if $what eq 'flicker';
	my ($id, $cell) = begin('fragile', "hog:$what");
	my @end = end_of($id, $cell);
	say_it($what, @end, 'killed for memory',
	    number('memory.events', 'oom_group_kill') - $before
	    . ', beside it', $s->status($beside));
	cancel($beside);
	limit_time(600000) if $what eq 'flicker';
}

# The launcher executes itself; the worker goes on to want too much when it was
# asked twice whether it lives, which only the new settings make soon.
sub try_reload {
	my ($id, $cell) = begin('fragile', 'pings:2', 'hog:memory');
	my $pid = $s->pid;
	my $procs = slurp("$group/$cell/cgroup.procs");

	settings(pingMs => 200);
	my $status = $s->systemctl('reload', 'browsertaskd');
	my $same = $procs =~ /\d/ && -d "$group/$cell";
	say_it('reload', $status, $s->pid == $pid ? 'same pid,' : 'another,',
	    $same ? 'same group,' : 'no group,', end_of($id, $cell));
}

# Groups with the names that the next cells would have, with somebody in one.
sub try_taken {
	my ($id, $cell) = begin('fragile', 'item');
	my ($n) = $cell =~ /(\d+)/;
	my @status = $s->ended($id)->{status};

	mkdir "$group/cell-" . ($n + $_) or print STDERR "mkdir: $!\n"
	    for 1, 2;
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0) {
		put("$group/cell-" . ($n + 1) . '/cgroup.procs', $$);
		exec 'sleep', 1000;
	}
	for (1, 2) {
		($id) = begin('fragile', 'item');
		my $r = $s->ended($id);
		push @status, $r->{status};
		print STDERR "$r->{error}{message}\n" if $r->{error};
	}
	say_it('taken', @status);
	return $pid;
}

sub try_killed {
	my ($sleeper) = @_;
	my ($id, $cell) = begin('fragile', 'hold');
	my ($pid, $sup) = ($s->pid, $s->supervisord);

	kill 'KILL', $sup;
	in_time(60, sub { $s->supervisord > 0 && $s->supervisord != $sup &&
	    $s->status($id) eq 'running' });
	say_it('supervisord', $s->pid == $pid ? 'same pid,' : 'another pid,',
	    $s->status($id), -d "$group/$cell" ? 'same group' : 'no group');
	kill 'KILL', $pid;
	$s->pid_after($pid);
	($id, $cell) = begin('fragile', 'item');
	my ($status) = end_of($id, $cell);
	my $gone = in_time(10, sub { waitpid($sleeper, 1) == $sleeper });
	say_it('launcher', $s->pid != $pid ? 'another pid,' : 'same,', $status,
	    'in', $cell =~ /^cell-/ ? 'a group,' : 'none,', 'sleeper',
	    $gone ? 'gone,' : 'lives,', 'groups', scalar(my @left = cells()));
}

say_it('manager', $s->linger) if $s->{user};
configure();
say_it('start', $s->systemctl('start', 'browsertaskd'), $s->active);
exit 1 if $s->active ne 'active';
$group = $s->group;
my ($line) = $s->ctl('profile', '--json') =~
    /("name"\s*:\s*"control-groups"[^}]*)/;
say_it('protection', ($line // '') =~ /"(on|off|weaker)"/ ? $1 : 'not told');
say_it('handed on', sort split ' ', slurp("$group/cgroup.subtree_control"));
my ($held, $cell) = begin('fragile', 'hold');
say_it('cell', map { my $file = $_; $file . '='
    . (slurp("$group/$cell/$file") =~ s/\s+$//r) }
    qw(memory.max memory.oom.group pids.max));
cancel($held);
try_hog($_) for @hogs;
try_reload();
try_killed(try_taken()) if !$s->{user};
($held, $cell) = begin('fragile', 'hold');
say_it('stop', $s->systemctl('stop', 'browsertaskd'), $s->active . ',',
    'group', -d $group ? 'left' : 'gone');
