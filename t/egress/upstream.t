#!/usr/bin/perl
# The upstream proxy: it is asked for the address that was judged and for
# nothing else, with user and password, by HTTP and by SOCKS5, in answers of any
# pieces; what is forbidden or near does not reach it; when it fails, that is
# told.
use strict;
use warnings;
use IO::Select;
use MIME::Base64 qw(encode_base64);
use Socket qw(inet_ntop AF_INET AF_INET6);
use Test::More;
use BrowserTask::Dns;
use BrowserTask::Egress;

use constant { SITE => '93.184.215.14', SITE6 => '2606:2800:21f::1',
    PROXY => '10.1.2.3', PRIVATE => '10.4.5.6' };

own_network($0, SITE, SITE6, PROXY, PRIVATE);
my $proxy = site(PROXY);
my $site = site(SITE);
my $dns = BrowserTask::Dns->new('127.0.0.1', {
	'good.example' => [ [ SITE6, SITE ] ],
	'six.example' => [ [SITE6] ],
	'bad.example' => [ ['10.9.9.9'] ],
	'proxy.example' => [ [PROXY] ],
	'near.example' => [ [PRIVATE] ],
});
my $e = BrowserTask::Egress->new(
    program => "$ENV{builddir}/egressd/egressd");
my $where = PROXY . ':' . $proxy->sockport;
$e->setting('resolver', '127.0.0.1:' . $dns->port);
$e->setting('upstreamProxy', "http://us%65r:p%40ss\@$where");
$e->cell(1);
ok($e->bind(1, 'run_a'), 'a run of a stranger');
my $port = 1000;

$SIG{PIPE} = 'IGNORE';

# Asks egressd; $talk is the proxy, whose value is kept.
sub through {
	my ($host, $talk, $port) = @_;
	my $sock;

	# A setting that was changed may come after what was asked: it closes
	# that, or that is answered without this proxy.
	for (1 .. 5) {
		$sock = $e->connect(1);
		syswrite $sock, "\5\1\0";
		next if exactly($sock, 2) eq '';
		syswrite $sock, "\5\1\0\3" . pack('C/a', $host) . pack 'n',
		    $port // 443;
		my @ready = IO::Select->new($proxy, $sock)->can_read(10);
		next if !grep { $_ == $proxy } @ready;
		my $server = $proxy->accept;
		my $said = $talk->($server);
		syswrite $server, 'site' if $server->opened;
		my $reply = exactly($sock, 10);
		return ($said, ord substr($reply, 1, 1), $sock, $server);
	}
	return ('', 'no proxy', $sock);
}

sub head {
	my ($server) = @_;
	my $head = '';
	while ($head !~ /\r\n\r\n$/) {
		my $byte = exactly($server, 1);
		last if $byte eq '';
		$head .= $byte;
	}
	return $head;
}

sub told {
	my ($port) = @_;
	return $e->expect(qr/^report 1 run_a \S+ $port /) // 'nothing';
}

# A change of the proxy closes what is open, in whatever order both arrive.
sub code {
	my ($host) = @_;

	for (1 .. 5) {
		my ($sock, $code) = $e->ask(1, $host, 443);
		return $code if defined $code;
	}
	return 'none';
}

# HTTP.
my $ok = "HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n";
my ($said, $code, $sock, $server) = through('good.example', sub {
	my $head = head($_[0]);
	syswrite $_[0], $ok;
	return $head;
});
is($said, 'CONNECT ' . SITE . ":443 HTTP/1.1\r\nHost: " . SITE . ":443\r\n"
    . 'Proxy-Authorization: Basic ' . encode_base64('user:p@ss', '')
    . "\r\n\r\n", 'asked for the address, with user and password');
is($code, 0, 'granted');
is(exactly($sock, 4), 'site', 'what follows its answer is the site');
syswrite $sock, 'browser';
is(exactly($server, 7), 'browser', 'and the other way');

($said, $code, $sock) = through('six.example', sub {
	my $head = head($_[0]);
	for (split //, $ok) {
		syswrite $_[0], $_;
		select undef, undef, undef, 0.001;
	}
	return $head;
});
like($said, qr/^CONNECT \[@{[SITE6]}\]:443 /, 'one of IPv6');
is($code, 0, 'an answer byte by byte');
is(exactly($sock, 4), 'site', 'and what follows');
for my $row ([ "HTTP/1.1 407 No\r\n\r\n", 'it wants another user and password' ],
    [ "HTTP/1.1 403 No\r\n\r\n", 'it forbids this' ],
    [ "HTTP/1.1 502 No\r\n\r\n", 'it cannot reach the site' ],
    [ "SSH-2.0-nothing\r\n\r\n", 'it is no HTTP proxy' ],
    [ "HTTP/1.1 200 OK\r\n" . 'a' x 20000, 'its answer has no end' ],
    [ undef, 'it closed the connection' ]) {
	my ($answer, $why) = @$row;
	# The same port would be told only once a second.
	$port++;
	($said, $code) = through('good.example', sub {
		head($_[0]);
		defined $answer ? syswrite $_[0], $answer : close $_[0];
	}, $port);
	is($code, 1, $why);
	is(told($port), "report 1 run_a good.example $port " . SITE
	    . " proxy $why", 'told');
}
for my $bad ('bad.example', '127.0.0.1', PROXY, '0x7f.1') {
	is(code($bad), 2, "$bad is refused");
}
is(code('nowhere.example'), 4, 'no such name here');
ok(quiet($proxy), 'of all that the proxy hears nothing');

# A proxy with a name; one that is not there.
$e->setting('upstreamProxy', 'http://proxy.example:' . $proxy->sockport);
($said, $code) = through('good.example', sub {
	my $head = head($_[0]);
	syswrite $_[0], $ok;
	return $head;
});
is($code, 0, 'a proxy by name');
unlike($said, qr/Authorization/, 'without a password none is sent');
$e->setting('upstreamProxy', 'http://nowhere.example:1');
is(code('good.example'), 1, 'a proxy without address');
$e->setting('upstreamProxy', 'http://' . PROXY . ':1');
is(code('good.example'), 1, 'a proxy that is not there');

# SOCKS5.
sub socks {
	my ($method, $login, $answer) = @_;
	return sub {
		my ($s) = @_;
		my $hello = exactly($s, 3);
		syswrite $s, "\5" . chr $method;
		return $hello if $method == 255;
		my $user = '';
		if ($method == 2) {
			exactly($s, 1);
			$user = exactly($s, ord exactly($s, 1)) . ':'
			    . exactly($s, ord exactly($s, 1));
			syswrite $s, "\1" . chr $login;
			return $user if $login;
		}
		my ($type) = unpack 'x3 C', exactly($s, 4);
		my $to = $type == 1 ? inet_ntop(AF_INET, exactly($s, 4))
		    : inet_ntop(AF_INET6, exactly($s, 16));
		my $port = unpack 'n', exactly($s, 2);
		syswrite $s, $answer;
		return "$user $to $port";
	};
}

my $granted = "\5\0\0\1" . "\0" x 6;
$e->setting('upstreamProxy', "socks5://user:pass\@$where");
($said, $code, $sock) = through('good.example', socks(2, 0, $granted));
is($said, 'user:pass ' . SITE . ' 443', 'SOCKS5 with user and password');
is($code, 0, 'granted');
is(exactly($sock, 4), 'site', 'and what follows');
($said, $code, $sock) = through('six.example',
    socks(0, 0, "\5\0\0\3\5proxy\0\1"));
is($said, ' ' . SITE6 . ' 443', 'one that wants no password');
is(exactly($sock, 4), 'site', 'an answer with a name');
($said, $code, $sock) = through('good.example',
    socks(0, 0, "\5\0\0\4" . "\0" x 18));
is(exactly($sock, 4), 'site', 'one with an IPv6 address');
for my $row ([ socks(2, 1, ''), 'it wants another user and password' ],
    [ socks(255, 0, ''), 'it wants another user and password' ],
    [ socks(2, 0, "\5\2\0\1" . "\0" x 6), 'it forbids this' ],
    [ socks(2, 0, "\5\5"), 'the site refused the connection' ],
    [ socks(2, 0, 'HTTP/'), 'it is no SOCKS5 proxy' ]) {
	my ($talk, $why) = @$row;
	$port++;
	($said, $code) = through('good.example', $talk, $port);
	is($code, 1, $why);
	is(told($port), "report 1 run_a good.example $port " . SITE
	    . " proxy $why", 'told');
}

# What only runs of this machine's users may reach is reached without a proxy:
# to a proxy elsewhere 127.0.0.1 would be itself.
$e->cell(2);
ok($e->bind(2, 'run_b', trust => 'local', names => '127.0.0.1,localhost,'
	. 'near.example,' . PRIVATE), 'a run that names hosts of this machine');
for my $at ('127.0.0.1', PRIVATE) {
	my $near = site($at);
	my $name = $at eq PRIVATE ? 'near.example' : 'localhost';
	for my $host ($at, $name) {
		my ($sock, $code) = $e->ask(2, $host, $near->sockport);
		is($code, 0, "$host is there");
		next unless defined $code && $code == 0;
		my $server = $near->accept;
		syswrite $sock, 'straight';
		is(exactly($server, 8), 'straight', '... straight');
	}
	is(code($at), 2, 'not for a stranger');
}
ok(quiet($proxy), 'the proxy hears nothing of it');
syswrite $sock = $e->connect(2), "\5\1\0";
exactly($sock, 2);
syswrite $sock, BrowserTask::Egress::request('good.example', 443);
$server = IO::Select->new($proxy)->can_read(10) ? $proxy->accept : undef;
is(defined $server && socks(0, 0, $granted)->($server), ' ' . SITE . ' 443',
    'but of what is public');
is(($e->ask(2, PRIVATE, 2))[1], 5, 'one that is not there');
like($e->expect(qr/^report 2 /), qr/ connect -$/, 'is no fault of the proxy');

$e->setting('upstreamProxy', '');
$port = $site->sockport;
($sock, $code) = $e->ask(1, SITE, $port);
($sock, $code) = $e->ask(1, SITE, $port) unless defined $code;
is($code, 0, 'no proxy any more');
# It may have been asked for the first of them.
$proxy->accept until quiet($proxy);
($sock, $code) = $e->ask(1, SITE, $port);
is($code, 0, '... nor for the next one');
ok(!quiet($site) && quiet($proxy), 'straight to the site');
is($e->stop, 0, 'it ends');
done_testing();
