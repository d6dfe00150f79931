#!/usr/bin/perl
# Kills and stops processes of an instance at random moments, with the real
# browser: no process of a cell may be left, not even a zombie. ROUNDS sets the
# number of times for each way, SEED repeats a run.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Size qw(figure seeded sized);
use IO::Socket::UNIX;
use Test::More;
use Time::HiRes qw(time sleep);

# What is promised; a shared machine gets five times as long.
use constant { PROMISED_S => 2, ALLOWED_S => 10 };

my $build = $ENV{builddir} // die "builddir is not set\n";
seeded();

$SIG{PIPE} = 'IGNORE';

# Name; moment: the browser answered ('up', 'pair' for any two) or is starting, or
# a kept cell has its second worker ('kept') or none ('idle'); stopped before;
# killed, in this order; what has to be gone: the cell, the browser or all.
my @ways = (
	[ 'worker', 'up', '', 'worker', 'cell' ],
	[ 'cell', 'up', '', 'cell', 'cell' ],
	[ 'browser', 'up', '', 'browser', 'browser' ],
	[ 'supervisord', 'up', '', 'supervisord', 'cell' ],
	[ 'launcher', 'up', '', 'launcher', 'all' ],
	[ 'worker and browser', 'pair', '', 'worker browser', 'cell' ],
	[ 'cell and worker', 'pair', '', 'cell worker', 'cell' ],
	[ 'cell and browser', 'pair', '', 'cell browser', 'cell' ],
	[ 'supervisord and worker', 'pair', '', 'supervisord worker', 'cell' ],
	[ 'supervisord and browser', 'pair', '', 'supervisord browser', 'cell' ],
	[ 'supervisord and cell', 'pair', '', 'supervisord cell', 'cell' ],
	[ 'launcher and worker', 'pair', '', 'launcher worker', 'all' ],
	[ 'launcher and browser', 'pair', '', 'launcher browser', 'all' ],
	[ 'launcher and cell', 'pair', '', 'launcher cell', 'all' ],
	[ 'launcher and supervisord', 'pair', '', 'launcher supervisord', 'all' ],
	[ 'worker, all stopped', 'up', 'worker browser', 'worker', 'cell' ],
	[ 'supervisord, all stopped', 'up', 'worker browser cell',
	    'supervisord', 'cell' ],
	[ 'launcher, all stopped', 'up', 'worker browser cell supervisord',
	    'launcher', 'all' ],
	[ 'launcher at the start', 'start', '', 'launcher', 'all' ],
	[ 'supervisord at the start', 'start', '', 'supervisord', 'cell' ],
	[ 'cell at the start', 'start', '', 'cell', 'cell' ],
	[ 'launcher at the start, cell stopped', 'start', 'cell', 'launcher',
	    'all' ],
	[ 'cell, kept', 'kept', '', 'cell', 'cell' ],
	[ 'worker and browser, kept', 'kept', '', 'worker browser', 'cell' ],
	[ 'supervisord, kept', 'kept', '', 'supervisord', 'cell' ],
	[ 'launcher, kept and all stopped', 'kept', 'worker browser cell',
	    'launcher', 'all' ],
	[ 'browser, kept and idle', 'idle', '', 'browser', 'cell' ],
	[ 'supervisord, idle and all stopped', 'idle', 'browser cell',
	    'supervisord', 'cell' ],
	[ 'launcher, kept and idle', 'idle', '', 'launcher', 'all' ],
);

sub connect_to {
	my ($i) = @_;
	return wait_until(60, sub {
		IO::Socket::UNIX->new(Peer => $i->admin_sock);
	}) // die "connect: $!\n";
}

# The pids of the parts that exist at this moment.
sub parts {
	my ($i) = @_;
	my %pid = (launcher => $i->{pid});

	for my $p (tree($i->{pid})) {
		$pid{supervisord} = $p->{pid} if $p->{cmd} =~ /^supervisord /;
		$pid{cell} = $p->{pid}
		    if $p->{ppid} == $i->{pid} && ($p->{nspid} // '') =~ /\t1$/;
		$pid{worker} = $p->{pid} if $p->{cmd} =~ /^workerd/;
		# A child that it is just forking looks the same.
		$pid{browser} = $p->{pid}
		    if $p->{cmd} =~ /--remote-debugging/
		    && $p->{ppid} == ($pid{cell} // 0);
	}
	return %pid;
}

# What has just been forked asks to be killed with its parent: no kernel does that
# for one that is stopped before it has asked.
sub has_asked {
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/cmdline") or return 0;
	return (<$fh> // '') !~ /^[^\0]*browsertaskd\0/;
}

# Whether what had to go is gone. A new supervisord or egressd is none of it.
sub still_there {
	my ($i, $what) = @_;

	return left(0) if $what eq 'all';
	left(0);
	return join "\n", map { "$_->{pid} $_->{state} $_->{cmd}" }
	    grep {
		$what eq 'browser'
		    ? $_->{cmd} =~ /headless-shell|^\[chrom/
		    : $_->{cmd} !~ /^supervisord|^egressd|launcher\/browsertaskd/
	    } tree($i->{pid});
}

sub start_cell {
	my ($i, $moment) = @_;
	my $sock = connect_to($i);
	my $lines = lines($sock);

	my $kept = $moment =~ /kept|idle/;
	syswrite $sock, 'spawn 1 0 0 ' . ($kept ? '17' : '1')
	    . ' 01ARZ3NDEKTSV4RRFFQ69G5FAV' . ($kept ? " p\n" : "\n");
	if ($moment eq 'start') {
		sleep rand 0.15;
		return $sock;
	}
	answers($sock, $lines) if said($lines, qr/^ready 1/);
	if ($kept) {
		syswrite $sock, "tell 1 exit 0\n";
		said($lines, qr/^worker_exited 1/) or die "it does not end\n";
	}
	if ($moment eq 'kept') {
		syswrite $sock, "worker 1\n";
		answers($sock, $lines) if said($lines, qr/^worker_ready 1/);
	}
	sleep rand 0.05;
	return $sock;
}

sub said {
	my ($lines, $re) = @_;
	return wait_until(60, sub { ($lines->next(30) // '') =~ $re });
}

sub answers {
	my ($sock, $lines) = @_;
	syswrite $sock,
	    qq(tell 1 cdp {"id":1,"method":"Browser.getVersion"}\n);
	said($lines, qr/^worker 1 cdp/) or die "the browser does not answer\n";
}

sub round {
	my ($mode, $way) = @_;
	my (undef, $moment, $stop, $kill, $gone) = @$way;
	my $i = BrowserTask::Harness->new(
		mode => $mode,
		programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework",
		})->start;
	my $sock = start_cell($i, $moment);
	my %pid = parts($i);
	my @absent = grep { !defined $pid{$_} } split ' ', "$stop $kill";
	my $was = time;
	my $left;

	kill 'STOP', grep { defined && has_asked($_) } @pid{ split ' ', $stop };
	kill 'KILL', grep { defined } @pid{ split ' ', $kill };
	# Nothing to kill yet: the worker's end does.
	syswrite $sock, "kill 1\n" if $kill eq 'cell' && !$pid{cell};
	wait_until(ALLOWED_S, sub { ($left = still_there($i, $gone)) eq '' });
	my $took = time - $was;
	$gone eq 'all' ? $i->wait : $i->stop;
	my $rest = left(ALLOWED_S);
	# Only while it starts there may be nothing yet to kill.
	@absent = () if $moment eq 'start';
	return ($took, join "\n", grep { $_ ne '' } $left, $rest,
	    map { "no $_" } @absent);
}

sub test_ways {
	my ($mode, @some) = @_;
	my $few = $mode eq (modes())[0] ? 3 : 1;
	my $rounds = $ENV{ROUNDS} // ($some[0][1] eq 'pair'
	    ? sized('rounds for each pair', 1, 20)
	    : sized('rounds for each way', $few, 50));

	my ($most, $kills) = (0, 0);
	for my $way (@some) {
		my ($worst, @bad) = (0);
		for (1 .. $rounds) {
			my ($took, $left) = round($mode, $way);
			$worst = $took if $took > $worst;
			$kills++;
			push @bad, $left if $left ne '';
		}
		is("@bad", '', sprintf('%s killed %d times, gone after '
		    . 'at most %d ms', $way->[0], $rounds, $worst * 1000));
		diag "slower than promised: $worst s" if $worst > PROMISED_S;
		$most = $worst if $worst > $most;
	}
	figure('%s, %s: %d ways, %d kills, gone after at most %d ms', $mode,
	    $some[0][1], scalar @some, $kills, $most * 1000);
}

beside(mode_parts(map { my $moment = $_; $moment => sub {
		test_ways($_[0], grep { $_->[1] eq $moment } @ways);
	} } qw(up pair start kept idle)));
done_testing();
