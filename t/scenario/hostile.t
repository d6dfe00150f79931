#!/usr/bin/perl
# Slow and hostile peers, all at the same time and for a while: a hundred clients
# that never read, garbage, connections without end, users that nobody let in, and a
# user whose requests are legal and expensive;
# in the first half each slot has a run that does not go on, besides. The
# others are answered as before, no process takes more memory than the limits on
# clients say, runs go on; and those that are not let in are turned away before a
# byte of theirs is read, also by the service of an ordinary user.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure seeded sized);
use IO::Handle;
use List::Util qw(max);
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

# The 99th of others takes twice as long at most; a shared machine gets five
# times that, and what is so little that a ratio says nothing.
use constant { DEAF => 100, SLOWER => 5, FLOOR_S => 0.02,
	STRANGER => 65533, SPENDER => 65501, SPENDERS => 30, SHARE => 16 << 20,
	SLOTS => 5, STUCK_S => 30, REFUSED => 20, CLIENTS => 600 };
# All clients may leave 64 MiB unread together, one frame of 8 MiB may be in the
# making, and each connection has its buffers; a user has requests in the making
# and inputs besides. No other process hears of them.
use constant { GROWN_KIB => (64 << 10) + (8 << 10) + CLIENTS * 16
	    + 2 * (SHARE >> 10),
	OTHERS_KIB => 2 << 10 };

my $seed = seeded();
my $seconds = sized('seconds of attacks', 10, 600);
my $i = BrowserTask::Harness->new(scripted => 1, settings => [
	'silentMs=600000', 'pingMs=200', 'maxConcurrentRuns=' . SLOTS,
	'maxClients=' . CLIENTS, 'maxClientsPerUid=' . CLIENTS, 'shareRuns=yes',
	'maxRequestBytesPerUid=' . SHARE, 'maxInputBytesPerUid=' . SHARE,
	$> == 0 ? 'clientGroup=65534' : () ])->start;
my $c = client($i);
my $calm = BrowserTask::Harness->new(scripted => 1)->start;
my $other = client($calm);
my $pid = $c->call('profile.get')->{pid};
my (@stuck, $stuck_at, @cancels, @refused);

sub anonymous_kib {
	my ($of) = @_;
	my $text = BrowserTask::Harness::slurp("/proc/$of/status") // '';
	return $text =~ /^RssAnon:\s+(\d+)/m ? $1 : 0;
}

# What the largest process of each kind has, but for the one that clients talk
# to.
sub others_kib {
	my %most = (launcher => anonymous_kib($i->{pid}));

	for my $p (tree($i->{pid})) {
		my ($kind) = $p->{cmd} =~ /^(egressd|cell|workerd)\b/ or next;
		$most{$kind} = max($most{$kind} // 0, anonymous_kib($p->{pid}));
	}
	return %most;
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

# One user's requests that are legal and expensive: lists, all templates, polls,
# large inputs of runs that are canceled, and frames that stop before their end.
sub spend {
	my ($end) = @_;
	my $large = frame('run.submit', templateId => 'scripted',
		inputs => { do => ['item'], note => 'x' x (1 << 20) },
		options => { mode => 'async' });
	my @asks = (frame('run.list', limit => 1000) x 20,
		frame('run.list', limit => 1, offset => 1000) x 50,
		frame('template.list') x 5, frame('run.events',
		runId => $stuck[0], afterSeq => 1000, timeoutMs => 60000) x 100,
		$large, substr $large, 0, 1 << 20);
	my ($n, @in) = (0);

	while (time < $end) {
		for my $k (0 .. SPENDERS - 1) {
			if (!$in[$k]) {
				$in[$k] = eval { client_of($i, SPENDER) } or next;
				$in[$k]{sock}->blocking(0);
			}
			my $s = $in[$k]{sock};
			my $ask = $asks[$k % @asks];
			my $left = \$in[$k]{left};
			$$left = $ask if !length($$left // '');
			my $got = syswrite $s, $$left;
			substr $$left, 0, $got // 0, '';
			$n++ if $got;
			1 while sysread $s, my $answer, 1 << 20;
			# Refused, or an end that never came: anew.
			undef $in[$k] if (!defined $got && !$!{EAGAIN})
			    || ($k % @asks == $#asks && !length $$left);
		}
		select undef, undef, undef, 0.002;
	}
	return "$n expensive requests";
}

# Someone whom the socket's file lets through, but nobody has let in.
sub become_stranger {
	$) = STRANGER . ' ' . STRANGER;
	POSIX::setgid(STRANGER);
	POSIX::setuid(STRANGER);
}

sub stranger {
	my ($to, $end) = @_;
	my ($n, $served) = (0, 0);

	become_stranger();
	while (time < $end) {
		my $s = BrowserTask::Client->new($to->client_sock, raw => 1);
		$s->bytes(frame('hello', proto => 1, client => 'stranger'));
		$s->closed(60);
		$served += keys %{ $s->{answers} };
		$n++;
		select undef, undef, undef, 0.005;
	}
	return "$n connections of a stranger, $served served";
}

# Connections that have sent $bytes before the service, which is stopped, sees
# them: the errors that they end with. A socket that is closed before all that
# came was read tells ECONNRESET, else it tells the end.
sub ends_of {
	my ($to, $bytes, $stranger) = @_;
	my ($p) = grep { $_->{cmd} =~ /^supervisord: running/ }
	    tree($to->{pid});
	pipe(my $r, my $w) or die "pipe: $!\n";
	pipe(my $said, my $say) or die "pipe: $!\n";

	kill 'STOP', $p->{pid};
	wait_until(60, sub { (grep { $_->{pid} == $p->{pid} }
		tree($to->{pid}))[0]{state} eq 'T' });
	my $kid = fork() // die "fork: $!\n";
	if ($kid == 0) {
		become_stranger() if $stranger;
		close $w;
		my @s = map { my $s = BrowserTask::Client->new(
			$to->client_sock, raw => 1); $s->bytes($bytes); $s }
		    1 .. REFUSED;
		syswrite $say, "sent\n";
		<$r>;
		syswrite $say, join(' ', map { my $got =
			sysread $_->{sock}, my $buf, 1;
			defined $got ? $got : $!{ECONNRESET} ? 'unread' : $! }
		    @s) . "\n";
		POSIX::_exit(0);
	}
	close $say;
	my $sent = <$said>;
	kill 'CONT', $p->{pid};
	close $w;
	my $ends = <$said> // 'nothing';
	waitpid $kid, 0;
	chomp $ends;
	return $ends;
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
my $before = anonymous_kib($pid);
stick(SLOTS - 1);
done($c, $_, 1) for @stuck;
my %others = others_kib();
my %others_most = %others;
my $rounds = 0;
my $most = 0;
# Whom only the service itself does not let in: a service of the system, and one
# of an ordinary user.
my @open = modes() == 2 ? ($i, BrowserTask::Harness->new(mode => 'user',
	scripted => 1)->start) : ();
for my $to (@open) {
	chmod 0755, $to->dir, $to->run_dir;
	chmod 0666, $to->client_sock;
}
my @attacks = (attack('never read', \&never_read), attack(garbage => \&garbage),
	attack(flood => \&flood),
	map { my $to = $_; attack(stranger => sub { stranger($to, @_) }) }
	    @open);
my $end = time + $seconds;
my @late;

sub ask_until {
	my ($until, $mute) = @_;
	return ask(sub {
		stick($mute) if time > $stuck_at + STUCK_S;
		$most = max($most, anonymous_kib($pid));
		if (++$rounds % 20 == 0) {
			my %now = others_kib();
			$others_most{$_} = max($others_most{$_} // 0, $now{$_})
			    for keys %now;
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
my $spent;
if ($> == 0) {
	my $spender = attack(spend => \&spend);
	$spent = ask_until(time + $seconds, 0);
	waitpid $spender->{pid}, 0;
	my $fh = $spender->{from};
	unshift @said, join '', <$fh>;
}
figure('%s', $_) for @said;
is((grep { /died/ } @said), 0, 'every attack went on to its end');
for my $n (1 .. @open) {
	my $mode = $open[-$n]{mode};
	like($said[-$n], qr/^[1-9].* 0 served$/, "$mode: strangers are turned away");
}

for my $part ([ 'all slots stuck', $slow ], [ 'slots free', $loud ],
	$spent ? [ 'beside one who spends', $spent ] : ()) {
	my ($name, $times) = @$part;
	my ($p99, $calm) = map { quantile(0.99, @{ $times->{$_} }) }
	    qw(took calm);
	my $bound = max(SLOWER * 2 * $calm, FLOOR_S);
	figure('p99 of others, %s: %.1f ms of %d, %.1f times the %.1f ms of a '
	    . 'service that nobody attacks', $name, 1000 * $p99,
	    scalar @{ $times->{took} }, $p99 / $calm, 1000 * $calm);
	cmp_ok($p99, '<', $bound, "p99 of others, $name");
}
figure('%d KiB of memory at most, %d before', $most, $before);
cmp_ok($most - $before, '<', GROWN_KIB, 'memory has a bound');
for my $kind (sort keys %others) {
	figure('%s: %d KiB at most, %d before', $kind, $others_most{$kind},
	    $others{$kind});
	cmp_ok($others_most{$kind} - $others{$kind}, '<', OTHERS_KIB,
		"$kind: has nothing of it");
}
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
for my $to (@open) {
	my ($code, $out) = $to->ctl('audit', '--action', 'access.refuse');
	like($out, qr/@{[STRANGER]}/, "$to->{mode}: the audit log has the stranger");
	for my $bytes ("\0", frame('hello', proto => 1)) {
		is(ends_of($to, $bytes, 1), join(' ', ('unread') x REFUSED),
			"$to->{mode}: " . length($bytes)
			. ' bytes of a stranger are not read');
	}
	# One that is let in: its bytes are read, and end it.
	is(ends_of($to, "\xff" x 4, 0), join(' ', (0) x REFUSED),
		"$to->{mode}: the bytes of others are");
}
is($_->stop, 0, 'stops') for $i, $calm, @open[1 .. $#open];
is(left(60), '', 'no process is left');
done_testing();
