#!/usr/bin/perl
# What egressd carries, and what it does not wait for: half-closed connections,
# resets, slow readers, limits of time, of connections and of bytes, many at a
# time, an end of supervisord, of the cell, and of descriptors.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use IO::Select;
use POSIX qw(:sys_wait_h);
use Socket qw(SOL_SOCKET SO_LINGER SO_RCVBUF);
use Test::More;
use Time::HiRes qw(time);
use BrowserTask::Dns;
use BrowserTask::Egress;
use BrowserTask::Harness;

use constant SITE => '93.184.215.14';

own_network($0, SITE);
my $site = site(SITE);
my $port = $site->sockport;
my $e = BrowserTask::Egress->new;
$e->cell(1);

sub pair {
	my ($id) = @_;
	my ($sock, $code) = $e->ask($id, SITE, $port, '4');
	return unless defined $code && $code == 0;
	return ($sock, scalar $site->accept);
}

# Whether the other side gave up, and how: 'end', 'reset', or 'nothing'.
sub how_ended {
	my ($sock, $seconds) = @_;
	my $end = time + ($seconds // 60);

	while ((my $rest = $end - time) > 0) {
		next unless IO::Select->new($sock)->can_read($rest);
		my $n = sysread $sock, my $bytes, 65536;
		return 'reset' if !defined $n && $!{ECONNRESET};
		return 'end' if defined $n && $n == 0;
	}
	return 'nothing';
}

# A request of a cell without run waits for one, but not for ever.
{
	my $sock = $e->connect(1);
	syswrite $sock, "\5\1\0";
	is(exactly($sock, 2), "\5\0", 'greeted without a run');
	syswrite $sock, BrowserTask::Egress::request(SITE, $port, '4');
	is(exactly($sock, 10), "\5\2\0\1" . "\0" x 6, 'refused after a time');
	$sock = $e->connect(1);
	syswrite $sock, "\5\1\0" . "x" x 0;
	exactly($sock, 2);
	syswrite $sock, BrowserTask::Egress::request(SITE, $port, '4');
	ok($e->bind(1, 'run_a'), 'bound');
	is(exactly($sock, 10), "\5\0\0\1" . "\0" x 6, 'what waited goes on');
	$site->accept;
}

# Half-closed, each way.
{
	my ($sock, $server) = pair(1);
	syswrite $sock, 'question';
	shutdown $sock, 1;
	is(exactly($server, 9), 'question', 'all of it, then the end');
	syswrite $server, 'answer';
	is(exactly($sock, 6), 'answer', 'the other way is open');
	close $server;
	is(how_ended($sock), 'end', 'until that ends, too');
	($sock, $server) = pair(1);
	shutdown $server, 1;
	is(how_ended($sock), 'end', 'a site that has ended');
	syswrite $sock, 'more';
	is(exactly($server, 4), 'more', 'still reads');
}

# A new supervisord: what was bound is, connections live; that what was counted
# counts is seen below.
{
	my ($sock, $server) = pair(1);
	syswrite $sock, 'before';
	is(exactly($server, 6), 'before', 'a connection');
	$e->say('link');
	ok($e->expect(qr/^linked/), 'another supervisord');
	syswrite $sock, 'after';
	is(exactly($server, 5), 'after', 'finds the connection living');
	ok($e->bind(1, 'run_a'), 'binds the same run again');
	syswrite $server, 'reply';
	is(exactly($sock, 5), 'reply', 'which ends none');
}

# Resets are passed on as such.
for my $first (0, 1) {
	my @pair = pair(1);
	syswrite $pair[$first], 'x';
	exactly($pair[1 - $first], 1);
	setsockopt $pair[$first], SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0;
	close $pair[$first];
	is(how_ended($pair[1 - $first]), 'reset',
	    ($first ? 'site to browser' : 'browser to site') . ': a reset');
}

# A browser that does not read stops the site, costs little and nobody else.
{
	my ($slow, $server) = pair(1);
	my ($sent, $chunk) = (0, 'x' x 65536);
	$server->blocking(0);
	while (IO::Select->new($server)->can_write(0.3)) {
		$sent += syswrite($server, $chunk) // 0;
		last if $sent > 1 << 28;
	}
	ok($sent < 1 << 28, "a slow reader stops the site after $sent bytes");
	my ($sock, $other) = pair(1);
	syswrite $other, 'quick';
	is(exactly($sock, 5), 'quick', 'others go on');
	my ($got, $bytes) = (0);
	while ($got < $sent) {
		last unless IO::Select->new($slow)->can_read(10);
		$got += sysread($slow, $bytes, 1 << 20) || last;
	}
	is($got, $sent, 'and it gets all of it when it reads');
}

# Everything arrives as it was sent, while both sides send.
{
	my $data = join '', map { pack 'N', $_ * 2654435761 % 4294967296 }
	    1 .. 1 << 20;
	my ($sock, $server) = pair(1);
	my %child;
	for my $fh ($sock, $server) {
		my $pid = fork() // die;
		if ($pid == 0) {
			my $at = 0;
			while ($at < length $data) {
				$at += syswrite($fh, $data, 99_991, $at)
				    // POSIX::_exit(1);
			}
			shutdown $fh, 1;
			POSIX::_exit(0);
		}
	}
	my %sum = map { $_ => '' } $sock, $server;
	my $select = IO::Select->new($sock, $server);
	while ($select->count && (my @ready = $select->can_read(20))) {
		for my $fh (@ready) {
			sysread $fh, $sum{$fh}, 1 << 16, length $sum{$fh}
			    or $select->remove($fh);
		}
	}
	is(md5_hex($sum{$_}), md5_hex($data), '4 MiB as they were sent')
	    for $sock, $server;
	1 while waitpid(-1, WNOHANG) > 0;
}
my ($connections, $in, $out, $refused) = split ' ', $e->unbind(1, 'run_a');
is($refused, 0, 'nothing was refused');
cmp_ok($connections, '>=', 7, "$connections connections");
cmp_ok($in, '>', $out, "$in bytes in, $out out");

# Time limits: a request that does not come, a site that does not answer,
# a connection without a byte.
{
	ok($e->bind(1, 'run_b', connections => 20), 'another run');
	my $sock = $e->connect(1);
	is(how_ended($sock), 'end', 'no greeting');
	$sock = $e->connect(1);
	syswrite $sock, "\5\1";
	is(how_ended($sock), 'end', 'half a greeting');
	($sock, my $server) = pair(1);
	isnt(how_ended($sock), 'nothing', 'no byte for long');
	isnt(how_ended($server), 'nothing', 'nor for the site');
	system("ip route add blackhole 198.41.0.0/16") == 0 or die;
	is(($e->ask(1, '198.41.0.4', 80, '4'))[1], 4, 'no way there');
	is($e->expect(qr/^report 1 run_b /), 'report 1 run_b 198.41.0.4 80 '
	    . '198.41.0.4 unreachable Invalid argument', 'told');
	system("ip route add 198.42.0.0/16 dev lo") == 0 or die;
	is(($e->ask(1, '198.42.0.1', 80, '4'))[1], 4, 'no answer');
	like($e->expect(qr/^report 1 run_b /), qr/ timeout -$/, 'told');
	is(($e->ask(1, SITE, 2, '4'))[1], 5, 'a closed port');
	like($e->expect(qr/^report 1 run_b /), qr/ connect -$/, 'told');
}

# Connections at once.
{
	my @open = map { [ pair(1) ] } 1 .. 20;
	is((grep { @$_ == 2 } @open), 20, 'as many as it may');
	is(($e->ask(1, SITE, $port, '4'))[1], 1, 'not one more');
	like($e->expect(qr/^report 1 run_b /), qr/ limit maxRunConnections$/,
	    'told');
	close $_ for @{ $open[0] };
	ok(wait_until(60, sub { pair(1) }), 'one less, one more');
	my $sums = $e->unbind(1, 'run_b');
	# One that came before egressd saw the end was refused as well.
	like($sums, qr/ [1-9]\d*$/, 'refusals are counted');
	isnt(how_ended($open[1][0], 60), 'nothing', 'unbound, all are closed');
	isnt(how_ended($open[19][1], 60), 'nothing', 'for the sites as well');
}

# Bytes in all.
{
	ok($e->bind(1, 'run_c', bytes => 1 << 20), 'a run of a MiB');
	my ($sock, $server) = pair(1);
	my ($idle) = pair(1);
	my $n = 0;
	while (IO::Select->new($server)->can_write(5)) {
		$n += syswrite($server, 'x' x 4096) // last;
	}
	cmp_ok($n, '>=', 1 << 20, 'as much as it may');
	like($e->expect(qr/^report 1 run_c /), qr/ limit maxRunBytes$/, 'told');
	isnt(how_ended($sock), 'nothing', 'then it is cut');
	isnt(how_ended($idle), 'nothing', 'and so are the others');
	is(($e->ask(1, SITE, $port, '4'))[1], 1, 'nothing more is opened');
	$e->unbind(1, 'run_c');
}

# Without supervisord, what is bound stays bound; without the cell, nothing.
{
	$e->cell(2);
	ok($e->bind(1, 'run_d'), 'a run');
	ok($e->bind(2, 'run_e'), 'and one in another cell');
	my ($sock, $server) = pair(1);
	my ($sock2, $server2) = pair(2);
	$e->say('unlink');
	ok(defined((pair(1))[0]), 'supervisord is gone: still served');
	$e->say('link');
	$e->expect(qr/^linked/);
	$e->say('gone 1');
	isnt(how_ended($sock, 60), 'nothing', 'the cell is gone: closed');
	isnt(how_ended($server, 60), 'nothing', 'on both sides');
	my $dead = eval { $e->connect(1) };
	ok(!$dead || how_ended($dead) ne 'nothing', 'nobody listens');
	syswrite $sock2, 'y';
	is(exactly($server2, 1), 'y', 'the other cell does not notice');
	is($e->unbind(1, 'run_d'), '0 0 0 0', 'no sums of what is gone');
	$e->unbind(2, 'run_e');
}

# Garbage on the listener ends nothing but itself.
{
	ok($e->bind(2, 'run_f'), 'a run');
	srand 7;
	for (1 .. 200) {
		my $sock = $e->connect(2);
		syswrite $sock, join '', map { chr int rand 256 }
		    0 .. int rand 40;
		close $sock;
	}
	ok(defined((pair(2))[0]), 'garbage ends nobody');
	$e->unbind(2, 'run_f');
}
is($e->stop, 0, 'it ends with its launcher');

# A thousand connections; and more than there are descriptors.
{
	my $many = BrowserTask::Egress->new(
	    program => "$ENV{builddir}/egressd/egressd");
	$e = $many;
	$e->cell(1);
	ok($e->bind(1, 'run_g', connections => 2000), 'a greedy run');
	my $began = time;
	my @pairs = map { [ pair(1) ] } 1 .. 1000;
	my $took = time - $began;
	is((grep { @$_ == 2 } @pairs), 1000, 'a thousand connections');
	my $good = 0;
	for my $p (@pairs) {
		syswrite $p->[0], 'a';
		syswrite $p->[1], 'b';
	}
	for my $p (@pairs) {
		$good++ if exactly($p->[1], 1) eq 'a'
		    && exactly($p->[0], 1) eq 'b';
	}
	is($good, 1000, 'all carry bytes');
	my ($rss) = `cat /proc/$e->{pid}/status` =~ /VmRSS:\s+(\d+)/;
	cmp_ok($rss, '<', 32768, "with $rss KiB, made in $took s");
	is($e->stop, 0, 'it ends');
}
{
	my $few = BrowserTask::Egress->new(program => '/bin/sh',
	    args => [ '-c', "ulimit -n 200; exec $ENV{builddir}/egressd/egressd" ]);
	$e = $few;
	$e->cell($_) for 1, 2;
	ok($e->bind($_, "run_h$_", connections => 1000), 'few descriptors')
	    for 1, 2;
	my @open = greedy(1);
	cmp_ok(@open, '>', 25, 'a run has ' . @open . ' connections of 136');
	like($e->expect(qr/^report 1 run_h1 /), qr/ limit no descriptors$/,
	    'told');
	my @others = greedy(2);
	cmp_ok(@others, '>', 10, 'another one still has ' . @others);
	is($e->unbind(2, 'run_h2') =~ /^(\d+)/ && $1, @others, 'it ends');
	push @open, greedy(1);
	cmp_ok(@open, '<', 40, 'half of all is the most');
	my @silent = map { $e->connect(1) } 1 .. 200;
	my @before = times_of($e->{pid});
	select undef, undef, undef, 0.5;
	my @after = times_of($e->{pid});
	cmp_ok($after[0] - $before[0], '<', 25, 'it does not spin');
	@open = @silent = ();
	ok(wait_until(60, sub { pair(1) }), 'and goes on when there is room');
	is($e->stop, 0, 'it ends');
}

# As many connections as a cell can have.
sub greedy {
	my ($id) = @_;
	my @pairs;

	while (@pairs < 100) {
		my ($sock, $code) = $e->ask($id, SITE, $port, '4');
		last if !defined $code || $code != 0;
		push @pairs, [ $sock, scalar $site->accept ];
	}
	return @pairs;
}

# Attempts that race each other are counted as well: while they hang, so many
# that all descriptors would be used up, what is open goes on, and so does the
# name server's answer.
{
	my $dns = BrowserTask::Dns->new('127.0.0.1', { 'slow.example' => [ [
		map { "198.42.0.$_" } 1 .. 8 ] ], 'site.example' => [ [SITE] ] });
	$e = BrowserTask::Egress->new(program => '/bin/sh',
	    args => [ '-c', "ulimit -n 200; exec $ENV{builddir}/egressd/egressd" ]);
	$e->setting('resolver', '127.0.0.1:' . $dns->port);
	$e->cell($_) for 1, 2;
	ok($e->bind($_, "run_i$_", connections => 1000), 'races') for 1, 2;
	my @races = map { $e->connect(1) } 1 .. 60;
	for my $sock (@races) {
		syswrite $sock, "\5\1\0"
		    . BrowserTask::Egress::request('slow.example', 80);
	}
	my @fds;
	ok(wait_until(60, sub { @fds = glob "/proc/$e->{pid}/fd/*"; @fds > 70 }),
	    'they hold ' . @fds . ' descriptors');
	cmp_ok(@fds, '<', 140, 'half of all at most');
	is(($e->ask(2, 'site.example', $port))[1], 0, 'another run goes on');
	is($e->stop, 0, 'it ends');
}

# Ticks of the processor.
sub times_of {
	my ($pid) = @_;
	open my $fh, '<', "/proc/$pid/stat" or die;
	my @f = split ' ', <$fh> =~ s/.*\) //r;
	return $f[11] + $f[12];
}
done_testing();
