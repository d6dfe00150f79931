# Runs as root inside the container of t/scenario/systemd.t: one user's service
# under their own manager, as it was installed, with nothing of it changed.
# Prints what became of each thing tried, a line each.
use strict;
use warnings;
use BrowserTask::Inside qw(in_time processes put say_it slurp);
use IO::Socket::INET;
use IPC::Open2;
use JSON::PP ();

$| = 1;
my $owner = $$;
my $site = 'http://127.0.0.1:8001';
my ($held, $go) = ('/run/held', '/run/go');
my $s = BrowserTask::Inside->new(user => 1);
my $uid = getpwnam 'plain';
END { BrowserTask::Inside->journal if $$ == $owner }

sub serve {
	my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
	    LocalPort => 8001, Listen => 50, ReuseAddr => 1)
	    or die "cannot listen: $!\n";
	my $pid = fork() // die "fork: $!\n";
	return if $pid != 0;
	$SIG{CHLD} = 'IGNORE';
	while (my $client = $server->accept) {
		next if fork() // die "fork: $!\n";
		answer($client);
		exit 0;
	}
}

# Addresses with "hold" in them are answered when the test says so.
sub answer {
	my ($client) = @_;
	my ($name) = (<$client> // '') =~ m{^GET /(\w+)};
	my $line;

	1 while defined($line = <$client>) && $line !~ /^\r?$/;
	if (($name // '') =~ /hold/) {
		put($held, $name);
		in_time(60, sub { -e $go });
	}
	my $body = '<!DOCTYPE html><title>Page ' . ($name // 'none')
	    . '</title><main><p>' . 'Words of a page. ' x 20 . '</p></main>';
	print $client "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    . 'Content-Length: ' . length($body)
	    . "\r\nConnection: close\r\n\r\n$body";
}

# A run that has one page behind it and waits for its second.
sub held_run {
	unlink $held, $go;
	my $id = $s->submit('batch_extract_pages', {
		urls => [ map { "$site/$_" } qw(first hold third) ],
		concurrency => 1 });
	in_time(60, sub { -e $held });
	return $id;
}

sub finish {
	my ($id) = @_;
	put($go, '');
	my $r = $s->ended($id);
	return ($r->{status}, 'attempt', $r->{attempt} // '?');
}

# One call of a tool, by an adapter of its own.
sub adapter {
	my ($tool) = @_;
	my @lines = ({ id => 1, method => 'initialize', params => {
		protocolVersion => '2025-06-18', capabilities => {},
		clientInfo => { name => 't', version => '1' } } },
	    { method => 'notifications/initialized' },
	    { id => 2, method => 'tools/call', params => { name => $tool,
		arguments => {} } });
	my $bin = -x '/usr/local/bin/browsertask-mcp' ? '/usr/local/bin'
	    : '/usr/bin';
	my $pid = open2(my $from, my $to, @{ $s->{as} },
	    "$bin/browsertask-mcp");
	print $to JSON::PP->new->utf8->encode({ jsonrpc => '2.0', %$_ }), "\n"
	    for @lines;
	$to->flush;
	my $answer = {};
	while (defined(my $line = <$from>)) {
		$answer = eval { JSON::PP->new->utf8->decode($line) } // {};
		last if ($answer->{id} // 0) eq '2';
	}
	close $to;
	close $from;
	waitpid $pid, 0;
	return $answer->{result}{structuredContent} // {};
}

sub settings {
	my ($n) = @_;
	my $dir = '/home/plain/.config/browsertask';

	system("mkdir -p $dir");
	put("$dir/browsertaskd.conf",
	    "warmCells = 0\nmaxConcurrentRuns = $n\n");
	system('chown -R plain:plain /home/plain/.config');
}

sub serves_setting {
	my ($n) = @_;
	return in_time(20, sub {
		$s->ctl('status', '--json') =~ /"maxConcurrentRuns"\s*:\s*$n\b/;
	}) ? "took $n" : "has not $n";
}

# A container has parts of /proc hidden, and who has not seen a whole one gets
# none for namespaces of their own: on a machine there is one.
mkdir '/run/proc';
system('mount -t proc proc /run/proc');
serve();
settings(5);
say_it('manager', $s->linger);
my $status = $s->systemctl('enable', '--now', 'browsertaskd');
say_it('enable', $status, $s->active, map { -S "/run/user/$uid/browsertask/$_"
    ? $_ : "no $_" } qw(client.sock admin.sock));
my $pid = $s->pid;
exit 1 if $pid <= 1;

my $r = $s->json('submit', 'batch_extract_pages',
    (map { "urls=$site/$_" } qw(one two three)), '--wait');
say_it('batch', $r->{status} // 'none', scalar @{ $r->{result}{items} //
    $r->{output}{items} // [] });
say_it('state', -d '/home/plain/.local/state/browsertask' ? 'at home' : 'away');
my $doctor = $s->ctl('doctor');
print STDERR $doctor;
say_it('doctor', $?, 'off:', $doctor =~ /^\S+\s+protection\s+(\S+): off/mg);

my $id = held_run();
settings(7);
$status = $s->systemctl('reload', 'browsertaskd');
say_it('reload', $status, $s->pid == $pid ? 'same pid,' : 'another pid,',
    serves_setting(7) . ',', finish($id));

$id = held_run();
my $sup = $s->supervisord;
kill 'KILL', $sup;
in_time(30, sub { $s->supervisord > 0 && $s->supervisord != $sup &&
    $s->status($id) eq 'running' });
say_it('supervisord', $s->pid == $pid ? 'same pid,' : 'another pid,',
    finish($id));

$id = held_run();
my ($worker) = grep { slurp("/proc/$_/comm") =~ /^workerd/ } processes($uid);
kill 'KILL', $worker // die "no worker\n";
$r = $s->ended($id);
put($go, '');
say_it('worker', $r->{status}, $r->{error}{errorCode} // '-',
    $s->pid == $pid ? 'same pid' : 'another pid');

$id = held_run();
my %before = map { $_ => 1 } processes();
kill 'KILL', $pid;
my $new = $s->pid_after($pid);
say_it('launcher', $new ? 'another pid,' : 'none,', 'left',
    scalar(grep { $before{$_} } processes()) . ',', finish($id));

$pid = $s->pid;
$status = $s->systemctl('restart', 'browsertaskd');
my $runs = () = $s->ctl('runs', '--all', '--json') =~ /"runId"/g;
say_it('restart', $status, $s->pid != $pid ? $s->active . ',' : 'the same,',
    'runs kept', $runs);
say_it('adapter', (adapter('get_runtime_profile')->{pid} // 0)
    == $s->supervisord ? 'uses it' : 'does not use it');

my $group = $s->group;
$status = $s->systemctl('stop', 'browsertaskd');
say_it('stop', $status, $s->active . ',', 'processes',
    scalar(my @left = processes($uid)), 'sockets',
    scalar(my @socks = glob('/run/user/$uid/browsertask/*.sock')), 'group',
    -d $group ? 'left' : 'gone');
print STDERR map { "left: $_ " . slurp("/proc/$_/cmdline") . "\n" } @left;

# Whom nobody serves starts one; the unit then has to say so, not to fight.
my $own = adapter('get_runtime_profile')->{pid} // 0;
$status = $s->systemctl('start', 'browsertaskd');
say_it('beside', $own > 0 ? 'it starts one,' : 'it starts none,',
    'the unit', $status == 0 ? 'too' : 'does not,', $s->active . ',',
    (adapter('get_runtime_profile')->{pid} // 0) == $own ? 'it serves'
    : 'another serves');
my ($launcher) = slurp("/proc/$own/status") =~ /^PPid:\s+(\d+)/m;
kill 'TERM', $launcher if ($launcher // 0) > 1;
in_time(20, sub { !processes($uid) });
$s->systemctl('reset-failed', 'browsertaskd');

# At the next start of the machine, or login, it comes by itself.
$status = $s->manager('restart');
in_time(60, sub { $s->active eq 'active' });
say_it('login', $status, $s->active);
$status = $s->manager('stop');
say_it('logout', $status, 'processes', scalar(my @all = processes($uid)));
