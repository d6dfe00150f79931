# Runs as root inside the container of t/scenario/systemd.t, and prints what
# became of what it tries, a line each.
use strict;
use warnings;
use IO::Socket::INET;
use Time::HiRes qw(sleep time);

$| = 1;
my ($owner, $unit) = ($$, 'browsertaskd.service');
END {
	system("journalctl --no-pager -o cat -u $unit >&2") if $$ == $owner;
}
my $ctl = (grep { -x } '/usr/local/bin/browsertaskctl',
    '/usr/bin/browsertaskctl')[0];

# Files that it reads are not below /usr, which is read-only here.
system('mkdir -p /run/systemd/system/browsertaskd.service.d');
my $exec = qx(grep -h ^Exec /usr/local/lib/systemd/system/$unit /usr/lib/systemd/system/$unit 2>/dev/null);
# A build of which nothing is configured has its state below /usr/local/var.
$exec =~ s{(/browsertaskd)( -n)?$}
    {"$1 -f /run/test.conf -s /var/lib/browsertask -r /run/browsertask"
    . ($2 // '')}emg;
for my $who (qw(client admin)) {
	my $dir = "/run/systemd/system/browsertaskd-$who.socket.d";
	system("mkdir -p $dir");
	put("$dir/test.conf", "[Socket]\nListenStream=\n"
	    . "ListenStream=/run/browsertask/$who.sock\n");
}
$ENV{BROWSERTASK_SOCKET} = '/run/browsertask/client.sock';
put('/run/systemd/system/browsertaskd.service.d/test.conf',
    "[Service]\nWatchdogSec=4\nRestart=always\nExecStart=\nExecReload=\n"
    . "LoadCredential=shop.user:/run/user.txt\n"
    . "LoadCredential=shop.password:/run/password.txt\n"
    . (join '', map { "LoadCredential=shop.$_.hosts:/run/hosts.txt\n" }
	qw(user password)) . $exec);
put('/run/user.txt', 'ada');
put('/run/password.txt', 'canary-5071');
put('/run/hosts.txt', "127.0.0.1\n");
put('/run/test.conf', "maxConcurrentRuns = 5\nwarmCells = 0\n");
run('systemd-sysusers');
run('systemd-tmpfiles --create --prefix=/run/browsertask');
run('systemctl daemon-reload');
print 'sysusers: ', join(' ', map { (getgrnam $_) ? "$_:" : () }
    qw(browsertask browsertask-admin)), "\n";
serve();

my $status = run("systemctl start $unit");
print "start: $status ", state(), "\n";
my $pid = show('MainPID');
exit 1 if $pid <= 1;

my $text;
($status, $text) = out("$ctl submit batch_extract_pages "
    . 'urls=http://127.0.0.1:8000/1 urls=http://127.0.0.1:8000/2 '
    . 'urls=http://127.0.0.1:8000/3 --wait --json');
my $items = () = $text =~ /"title"\s*:\s*"Page \d"/g;
print "batch: $status ", $text =~ /"status"\s*:\s*"(\w+)"/ ? $1 : $text,
    " $items items\n";
# What systemd handed over goes into a form, by its name.
put('/run/login.json', '{"startUrl":"http://127.0.0.1:8000/login",'
    . '"credentials":{"username":{"secretRef":"shop.user"},'
    . '"password":{"secretRef":"shop.password"}}}');
($status, $text) = out("$ctl submit login_keep_session @/run/login.json "
    . '--wait --json');
my $posted = -e '/run/posted' ? qx(cat /run/posted) : 'nothing';
print "credential: $status ", $text =~ /canary/ ? 'told' : 'not told',
    ', the site got ', $posted, "\n";
my (undef, $doctor) = out("$ctl doctor");
print 'doctor: 0 off:',
    (map { " $_" } $doctor =~ /^\S+\s+protection\s+(\S+): off/mg), "\n";
print STDERR $doctor;

put('/run/test.conf', "maxConcurrentRuns = 7\nwarmCells = 0\n");
my ($old) = qx(pgrep -x supervisord -P $pid) =~ /(\d+)/;
$status = run("systemctl reload $unit");
my $took = setting('maxConcurrentRuns', 7);
until_true(10, sub { active() eq 'active' && !-d "/proc/$old" });
print "reload: $status ", active(), ", took $took, ",
    show('MainPID') == $pid ? 'same' : 'another', ' pid, ',
    -d "/proc/$old" ? 'the same' : 'another', " supervisor\n";
put('/run/test.conf', "maxConcurrentRuns = seven\n");
print 'badreload: ', run("systemctl reload $unit"), ' ', active(), ', has ',
    setting('maxConcurrentRuns', 7), "\n";
put('/run/test.conf', "warmCells = 0\n");

$status = run("systemctl restart $unit");
(undef, $text) = out("$ctl runs --all --json");
print "restart: $status ", show('MainPID') != $pid ? active() : 'the same',
    ', runs kept: ', scalar(() = $text =~ /"runId"|"run_id"/g) ? 1 : 0, "\n";

$pid = show('MainPID');
exit 1 if $pid <= 1;
my %before = map { $_ => 1 } processes();
kill 'KILL', $pid;
until_true(20, sub { show('MainPID') > 0 && show('MainPID') != $pid &&
    active() eq 'active' });
print 'killed: ', active(), ', restarts ', show('NRestarts'), ', left ',
    scalar(grep { $before{$_} } processes()), "\n";

$pid = show('MainPID');
my ($supervisord) = qx(pgrep -x supervisord -P $pid) =~ /(\d+)/;
exit 1 if !defined $supervisord;
kill 'STOP', $supervisord;
until_true(30, sub { !-d "/proc/$supervisord" });
($status) = out("$ctl status");
print 'hung: ', active(), ', restarts ', show('NRestarts'), ', ',
    show('MainPID') == $pid ? 'same' : 'another', " pid, then $status\n";

kill 'STOP', $pid;
my $why = '';
until_true(30, sub {
	$why = 'watchdog' if show('Result') eq 'watchdog';
	return $why ne '' && show('MainPID') > 0 && show('MainPID') != $pid &&
	    active() eq 'active';
});
print 'stuck: ', active(), ', restarts ', show('NRestarts'), ", $why\n";

print 'stop: ', run("systemctl stop $unit"), ' ', active(), ', processes ',
    scalar(processes()), ', sockets ', sockets(), ', groups ', groups(), "\n";

run('systemctl start browsertaskd-client.socket browsertaskd-admin.socket');
my $was = active();
($status) = out("$ctl status");
print "socket: $was, then $status ", active(), "\n";
($status, $text) = out("setpriv --reuid=65534 --regid=65534 --clear-groups "
    . "$ctl --socket " . (sock())[0] . ' status');
print 'nobody: ', $status == 0 ? 'let in' : 'refused', "\n";
print 'socketstop: ', run("systemctl stop $unit"), ' ', active(),
    ', processes ', scalar(processes()), ', sockets ', sockets(), "\n";
run('systemctl stop browsertaskd-client.socket browsertaskd-admin.socket');

sub put {
	my ($path, $text) = @_;
	open(my $fh, '>', $path) or die "$path: $!\n";
	print $fh $text;
	close $fh;
}

sub run {
	my ($command) = @_;
	print STDERR "+ $command\n";
	system("$command >&2");
	return $? >> 8;
}

sub out {
	my ($command) = @_;
	my $text = qx($command);
	return ($? >> 8, $text);
}

sub show {
	my ($what) = @_;
	my $value = qx(systemctl show -P $what $unit);
	chomp $value;
	return $value;
}

sub active { return show('ActiveState') }
sub state { return active() . ' ' . show('SubState') }

sub until_true {
	my ($seconds, $sub) = @_;
	my $end = time + $seconds;
	sleep 0.1 until $sub->() || time > $end;
}

sub setting {
	my ($name, $want) = @_;
	my $value;
	# The launcher is told by a signal, and tells the supervisor.
	until_true(5, sub {
		my (undef, $text) = out("$ctl status --json");
		($value) = $text =~ /"$name"\s*:\s*(\d+)/;
		return defined $value && $value == $want;
	});
	return $value // 'nothing';
}

# Those of the uids of the service, and those with its names.
sub processes {
	my @found;
	for my $dir (glob '/proc/[0-9]*') {
		my $uid = (stat $dir)[4] // next;
		open(my $fh, '<', "$dir/comm") or next;
		my $comm = <$fh> // '';
		push @found, $dir if ($uid >= 60736 && $uid < 65534) ||
		    $comm =~ /^(browsertaskd|supervisord|egressd|cell|workerd)$/;
	}
	return @found;
}

sub sock {
	return grep { -S } map { "/run/browsertask/$_.sock" } qw(client admin);
}

sub sockets { return scalar(my @s = sock()) }

sub groups {
	my @g = glob '/sys/fs/cgroup/{,systemd/,unified/}system.slice/browsertaskd.service';
	return scalar grep { -d } @g;
}

sub serve {
	my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
	    LocalPort => 8000, Listen => 50, ReuseAddr => 1)
	    or die "cannot listen: $!\n";
	my $pid = fork() // die "fork: $!\n";
	return if $pid != 0;
	open(STDOUT, '>', '/dev/null');
	while (my $client = $server->accept) {
		my $request = <$client> // '';
		my $length = 0;
		while (defined(my $line = <$client>)) {
			$length = $1 if $line =~ /^Content-Length: (\d+)/i;
			last if $line =~ /^\r?$/;
		}
		if ($request =~ /^POST/) {
			read($client, my $form, $length);
			put('/run/posted', $form);
		}
		my ($n) = $request =~ m{^GET /(\d)};
		my $body = '<!DOCTYPE html><html><head><title>Page '
		    . ($n // 'none') . '</title></head><body><main><p>'
		    . 'Words of a page. ' x 20 . '</p></main></body></html>';
		$body = '<!DOCTYPE html><title>Sign in</title>'
		    . '<form method=post action=/in><input name=user>'
		    . '<input type=password name=password>'
		    . '<button>Sign in</button></form>'
		    if $request =~ m{^GET /login};
		print $client "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
		    . 'Content-Length: ' . length($body)
		    . "\r\nConnection: close\r\n\r\n$body";
		close $client;
	}
	exit 0;
}
