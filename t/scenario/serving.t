#!/usr/bin/perl
# How soon it serves again with many ended runs in its store, how soon it stops,
# and that nobody is told that it is ready before it listens. On a machine that
# does other things, too, bounds are BROWSERTASK_SLOW (5) times as wide.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Size qw(figure sized);
use IO::Socket::UNIX;
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $slow = $ENV{BROWSERTASK_SLOW} // 5;
my $runs = sized('ended runs in the store', 10_000, 10_000);
my $times = sized('starts', 5, 50);

# A store as an instance of before has left it.
sub fill {
	my ($dir) = @_;

	system("$build/bench/rows", 'fill', $dir, $runs) == 0
	    or die "rows: $?\n";
	open(my $lock, '>', "$dir/lock") or die "$dir/lock: $!\n";
	chmod 0600, $lock;
	mkdir "$dir/profiles", 0700 or die "$dir/profiles: $!\n";
	# The harness's ordinary user.
	system('chown', '-R', '65534:65534', $dir) if $> == 0;
}

sub instance {
	my (%opt) = @_;
	my $i = BrowserTask::Harness->new(
		launcher => "$build/t/scenario/undamped",
		browser => "$build/t/launch/fake-headless-shell",
		programs => { workerd => "$build/t/scenario/scripted",
			supervisord => "$build/supervisord/supervisord-test" },
		%opt);
	$i->{env} = { BROWSERTASK_TEST_CRASH => $i->dir . '/crash', %{ $opt{env} // {} } };
	open(my $fh, '>', $i->dir . '/crash') or die "crash: $!\n";
	chmod 0666, $i->dir . '/crash';
	return $i;
}

sub supervisord {
	my ($i, $state) = @_;
	my ($p) = grep { $_->{ppid} == $i->{pid}
	    && $_->{cmd} =~ /^(?:\S*\/)?supervisord\b/
	    && $_->{state} =~ /$state/ } tree($i->{pid});
	return $p && $p->{pid};
}

sub fast {
	my ($what, $bound, @seconds) = @_;
	my ($worst) = sort { $b <=> $a } @seconds;

	figure('%s: at most %.3f s of %d times', $what, $worst,
	    scalar @seconds);
	cmp_ok($worst, '<=', $bound * $slow, "$what within $bound s"
	    . ($slow == 1 ? '' : " times $slow"));
}

subtest 'serving again, and stopping' => sub {
	my $i = instance(mode => 'user');
	my (@starts, @again, @stops);
	my $served = sub {
		my $c = wait_until(60, sub { eval {
			BrowserTask::Client->new($i->client_sock) } });
		my $list = $c->call('run.list', { limit => 1 });
		die "not all runs are there\n" if $list->{total} < $runs;
		return $c;
	};

	fill($i->state_dir);
	for my $n (1 .. $times) {
		my $began = time;
		$i->start;
		$served->();
		push @starts, time - $began;
		$began = time;
		kill 'KILL', supervisord($i, '.');
		my $c = $served->();
		push @again, time - $began;
		# Two that end when told to, one that does not.
		my @r = map { $c->run('fragile', { do => [$_] },
			{ mode => 'async' }) } $n > 2 ? () : qw(hold hold deaf);
		ok(wait_until(60, sub { !grep { ($c->call('run.get',
			{ runId => $_->{runId} })->{phase} // '') ne 'acting' }
			@r }), 'runs are active') if @r;
		$began = time;
		is($i->stop, 0, 'it stops');
		push @stops, time - $began if @r;
	}
	fast("with $runs runs it serves after a start", 1, @starts);
	fast("with $runs runs it serves after a crash", 1, @again);
	fast('it stops with active runs', 5, @stops);
};

subtest 'ready is said last' => sub {
	my $i = instance();
	my $path = $i->dir . '/notify';
	my $notify = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $path);
	my $plan = sub {
		open(my $fh, '>', $i->dir . '/crash') or die "crash: $!\n";
		syswrite $fh, "$_[0]:1:stop";
	};
	my $connects = sub { IO::Socket::UNIX->new(Peer => $_[0]) ? 1 : 0 };
	my ($pid, $said);
	my $stopped = sub { wait_until(60, sub {
		-z $i->dir . '/crash' && ($pid = supervisord($i, 'T')) }) };
	my $told = sub {
		my $bits = '';
		vec($bits, fileno $notify, 1) = 1;
		while (select(my $ready = $bits, undef, undef, 0)) {
			$notify->recv(my $text, 4096);
			$said .= $text;
		}
		return ($said // '') =~ /READY=1/ ? 1 : 0;
	};

	chmod 0666, $path;
	$i->{env}{NOTIFY_SOCKET} = $path;
	$plan->('serve_begun');
	$i->launch;
	ok($stopped->(), 'it is about to listen');
	is($connects->($i->client_sock), 0, 'no client gets in');
	is($connects->($i->admin_sock), 0, 'no administrator either');
	ok(!$i->ready(0.1) && !$told->(), 'it is not ready');
	$plan->('serve_listens');
	kill 'CONT', $pid;
	ok($stopped->(), 'it listens');
	is($connects->($i->client_sock), 1, 'a client gets in');
	is($connects->($i->admin_sock), 1, 'an administrator, too');
	ok(!$i->ready(0.1) && !$told->(), 'it has not said that it is ready');
	kill 'CONT', $pid;
	ok($i->ready(30), 'it is ready');
	ok(wait_until(60, $told), 'systemd is told');
	is($i->stop, 0, 'it stops');
};

is(left(60), '', 'no process is left');
done_testing();
