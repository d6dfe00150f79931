#!/usr/bin/perl
# Slow and hostile peers, all at the same time and for a while: a hundred clients
# that never read, garbage, connections without end, users that nobody let in;
# in the first half each slot has a run that does not go on, besides. The
# others are answered as before, memory has a bound, runs go on; and those that
# are not let in are turned away before a byte of theirs is read.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure seeded sized);
use IO::Handle;
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

# The 99th of others takes twice as long at most; a shared machine gets five
# times that, and what a loaded one takes for anything.
use constant { DEAF => 100, SLOWER => 5, FLOOR_S => 0.05, GROWN_KIB => 160 << 10,
	STRANGER => 65533, SLOTS => 5, STUCK_S => 30 };

my $seed = seeded();
my $seconds = sized('seconds of attacks', 10, 600);
my $i = BrowserTask::Harness->new(scripted => 1, settings => [
	'silentMs=600000', 'pingMs=200', 'maxConcurrentRuns=' . SLOTS,
	'maxClients=1000', 'maxClientsPerUid=600' ])->start;
my $c = client($i);
my $calm = BrowserTask::Harness->new(scripted => 1)->start;
my $other = client($calm);
my $pid = $c->call('profile.get')->{pid};
my (@stuck, $stuck_at, @cancels, @refused);

sub anonymous_kib {
	my $text = BrowserTask::Harness::slurp("/proc/$pid/status") // '';
	return $text =~ /^RssAnon:\s+(\d+)/m ? $1 : 0;
}

# In a process of its own until the time is over; what it says it did.
sub attack {
	my ($name, $sub) = @_;
	pipe(my $r, my $w) or die "pipe: $!\n";
	my $kid = fork() // die "fork: $!\n";

	if ($kid == 0) {
		local $SIG{PIPE} = 'IGNORE';
		# What the service does is measured, not who has the processor,
		# of which each session may have its share.
		POSIX::setsid();
		POSIX::nice(19);
		if (open my $fh, '>', '/proc/self/autogroup') {
			print {$fh} 19;
			close $fh;
		}
		srand $seed;
		my $n = eval { $sub->(time + $seconds) } // "died: $@";
		syswrite $w, $n;
		POSIX::_exit(0);
	}
	return { name => $name, pid => $kid, from => $r };
}

sub frame {
	my ($method, %params) = @_;
	my $body = pack('CCC', 0x94, 0, 7)
	    . BrowserTask::Client::pack_str($method)
	    . BrowserTask::Client::pack_map(\%params);
	return pack('N', length $body) . $body;
}

sub raw { return eval { BrowserTask::Client->new($i->client_sock, raw => 1) } }

# Ask for what is long, read nothing, come again when dropped.
sub never_read {
	my ($end) = @_;
	my $hello = frame('hello', proto => 1, client => 'deaf');
	my $long = frame('template.list') x 20;
	my (@deaf, $sent);

	while (time < $end) {
		for my $n (0 .. DEAF - 1) {
			if (!$deaf[$n]) {
				$deaf[$n] = raw() or next;
				$deaf[$n]{sock}->blocking(0);
				syswrite $deaf[$n]{sock}, $hello;
			}
			my $got = syswrite $deaf[$n]{sock}, $long;
			$sent += $got // 0;
			undef $deaf[$n] if !defined $got && !$!{EAGAIN};
		}
		select undef, undef, undef, 0.01;
	}
	return "$sent bytes of requests";
}

sub garbage {
	my ($end) = @_;
	my $n = 0;

	while (time < $end) {
		my $g = raw() or next;
		my $bytes = join '', map { chr int rand 256 }
		    1 .. 1 + int rand 300;
		$bytes = frame('hello', proto => 1) . $bytes if $n % 3 == 1;
		$bytes = pack('N', length $bytes) . $bytes if $n % 3 == 2;
		$g->bytes($bytes);
		shutdown $g->{sock}, 1;
		$n++;
		select undef, undef, undef, 0.002;
	}
	return "$n connections with garbage";
}

sub flood {
	my ($end) = @_;
	my ($n, @open) = (0);

	while (time < $end) {
		push @open, raw();
		shift @open if @open > 50;
		$n++;
		select undef, undef, undef, 0.001;
	}
	return "$n connections without a word";
}

# Someone whom the socket's file lets through, but nobody has let in.
sub stranger {
	my ($end) = @_;
	my ($n, $served) = (0, 0);

	$) = STRANGER . ' ' . STRANGER;
	POSIX::setgid(STRANGER);
	POSIX::setuid(STRANGER);
	while (time < $end) {
		my $s = BrowserTask::Client->new($i->client_sock, raw => 1);
		$s->bytes(frame('hello', proto => 1, client => 'stranger'));
		$s->closed(60);
		$served += keys %{ $s->{answers} };
		$n++;
		select undef, undef, undef, 0.005;
	}
	return "$n connections of a stranger, $served served";
}

# Some rounds of questions: the times they took, and those of another service
# at the same time, which nobody attacks.
sub ask {
	my ($until) = @_;
	my (@took, @calm, $bad);

	while ($until->(scalar @took)) {
		for my $call ([ 'profile.get' ], [ 'run.list', limit => 20 ],
		    [ 'run.get', runId => $stuck[0] ]) {
			my ($name, %params) = @$call;
			my ($s, $r) = $c->timed($name, \%params);
			push @took, $s;
			$bad++ if $r->{errorCode};
			push @calm, ($other->timed($name, \%params))[0];
		}
		select undef, undef, undef, 0.005;
	}
	is($bad // 0, 0, scalar @took . ' calls are answered');
	return { took => \@took, calm => \@calm };
}

# One run that waits and $mute whose workers read nothing, in the place of those
# that were there: no run may take as long as the attacks.
sub stick {
	my ($mute) = @_;

	for my $run (@stuck) {
		my ($s, $a) = timed(sub {
			$c->call('run.cancel', { runId => $run }) });
		push @cancels, $s;
		push @refused, $a if ($a->{status} // '') ne 'canceled';
	}
	@stuck = map { $c->run('scripted', { do => [ 'item', $_ ] },
		{ mode => 'async', priority => 'critical' })->{runId} }
	    'hold', ('mute') x $mute;
	$stuck_at = time;
}

stick(0);
done($c, $stuck[0], 1);
ask(sub { $_[0] < 60 });
my $before = anonymous_kib();
stick(SLOTS - 1);
done($c, $_, 1) for @stuck;
my $rounds = 0;
my $most = 0;
my $root = $> == 0 && $i->{mode} eq 'system';
if ($root) {
	chmod 0755, $i->dir, $i->run_dir;
	chmod 0666, $i->client_sock;
}
my @attacks = (attack('never read', \&never_read), attack(garbage => \&garbage),
	attack(flood => \&flood),
	$root ? attack(stranger => \&stranger) : ());
my $end = time + $seconds;
my @late;

sub ask_until {
	my ($until, $mute) = @_;
	return ask(sub {
		stick($mute) if time > $stuck_at + STUCK_S;
		my $kib = anonymous_kib();
		$most = $kib if $kib > $most;
		if (++$rounds % 20 == 0) {
			my $r = $c->run('scripted', { do => [ 'item', 'art' ] },
				{ mode => 'async' });
			push @late, $r->{runId} // 'refused';
		}
		return time < $until;
	});
}

my $slow = ask_until($end - $seconds / 2, SLOTS - 1);
stick(0);
my $loud = ask_until($end, 0);
my @said = map { my $fh = $_->{from}; waitpid $_->{pid}, 0;
	join '', <$fh> } @attacks;
figure('%s', $_) for @said;
is((grep { /died/ } @said), 0, 'every attack went on to its end');
like($said[-1], qr/^[1-9].* 0 served$/, 'strangers are turned away') if $root;

for my $half ([ 'all slots stuck', $slow ], [ 'slots free', $loud ]) {
	my ($name, $times) = @$half;
	my ($p99, $calm) = map { quantile(0.99, @{ $times->{$_} }) }
	    qw(took calm);
	my $bound = SLOWER * 2 * $calm;
	$bound = SLOWER * FLOOR_S if $bound < SLOWER * FLOOR_S;
	figure('p99 of others, %s: %.1f ms of %d, %.1f times the %.1f ms of a '
	    . 'service that nobody attacks', $name, 1000 * $p99,
	    scalar @{ $times->{took} }, $p99 / $calm, 1000 * $calm);
	cmp_ok($p99, '<', $bound, "p99 of others, $name");
}
figure('%d KiB of memory at most, %d before', $most, $before);
cmp_ok($most - $before, '<', GROWN_KIB, 'memory has a bound');
is((grep { (ended($c, $_, 120) // {})->{status} ne 'succeeded' } @late), 0,
	@late . ' runs meanwhile succeed');
ok(wait_until(60, sub { $c->call('profile.get')->{clients} == 1 }),
	'no connection is left');
is($c->call('profile.get')->{pid}, $pid, 'nothing was restarted');
$c->call('run.cancel', { runId => $stuck[0] });
is(ended($c, $stuck[0])->{status}, 'canceled', 'the run from before, too');
figure('cancel of one that does not answer: at most %.0f ms of %d',
    1000 * quantile(1, @cancels), scalar @cancels);
is_deeply(\@refused, [], 'each is canceled');
if ($root) {
	my ($code, $out) = $i->ctl('audit', '--action', 'access.refuse');
	like($out, qr/@{[STRANGER]}/, 'the audit log has the stranger');
}
is($_->stop, 0, 'stops') for $i, $calm;
is(left(60), '', 'no process is left');
done_testing();
