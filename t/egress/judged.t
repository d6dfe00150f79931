#!/usr/bin/perl
# egressd judges the address that it connects to: names that mean forbidden
# addresses, or another one each time, and every spelling of an address, while
# listeners at all of these see nothing; and what is allowed is reached.
use strict;
use warnings;
use IO::Select;
use Test::More;
use BrowserTask::Dns;
use BrowserTask::Egress;
use BrowserTask::Harness;

use constant {
	PUBLIC => '93.184.215.14',
	OTHER => '151.101.1.140',
	PUBLIC6 => '2606:2800:21f::1',
	PRIVATE => '10.9.8.7',
	METADATA => '169.254.169.254',
	ULA => 'fd00:1::1',
};

own_network($0, PUBLIC, OTHER, PUBLIC6, PRIVATE, METADATA, ULA);

my $good = site(PUBLIC);
my $port = $good->sockport;
my $good6 = site(PUBLIC6, $port);
my $other = site(OTHER, $port);
my @forbidden = map { site($_, $port) } '127.0.0.1', '::1', PRIVATE, METADATA,
    ULA;

my $dns = BrowserTask::Dns->new('127.0.0.1', {
	'good.example' => [ [PUBLIC] ],
	'good6.example' => [ [PUBLIC6] ],
	'both.example' => [ [ PUBLIC, PUBLIC6 ] ],
	'private.example' => [ [PRIVATE] ],
	'loop.example' => [ [ '127.0.0.1', '::1' ] ],
	'metadata.example' => [ [METADATA] ],
	'mapped.example' => [ ['::ffff:10.9.8.7'] ],
	'nat64.example' => [ ['64:ff9b::a9fe:a9fe'] ],
	'sixtofour.example' => [ ['2002:a09:807::1'] ],
	'ula.example' => [ [ULA] ],
	'zero.example' => [ ['0.0.0.0'] ],
	'mixed.example' => [ [ PRIVATE, '::1', METADATA, PUBLIC ] ],
	'rebind.example' => [ [PUBLIC], [PRIVATE] ],
	'rebound.example' => [ [PUBLIC], [PRIVATE] ],
	'flips.example' => [ [PRIVATE], [PUBLIC], [PRIVATE] ],
	'two.example' => [ [ PRIVATE, PUBLIC ], [PRIVATE] ],
	'chain.example' => [ { cname => [ 'a.example', 'b.example' ],
	    to => [PUBLIC] } ],
	'badchain.example' => [ { cname => [ 'a.example', 'metadata.example' ],
	    to => [METADATA] } ],
	'huge.example' => [ { huge => 200, to => [PUBLIC] } ],
	'hugebad.example' => [ { huge => 200, to => [PRIVATE] } ],
	'servfail.example' => ['servfail'],
	'refused.example' => ['refused'],
	'garbage.example' => ['garbage'],
	'silent.example' => ['silent'],
	'empty.example' => [ [] ],
	'half.example' => [ [PUBLIC] ],
});

my $e = BrowserTask::Egress->new;
$e->setting('resolver', '127.0.0.1:' . $dns->port);
$e->cell(1);
ok($e->bind(1, 'run_a'), 'a run of a stranger');

# Whether host is connected to that site, and carries bytes both ways.
sub reached {
	my ($site, @host) = @_;
	my ($sock, $code) = $e->ask(1, @host);

	return "code " . ($code // 'none') if !defined $code || $code != 0;
	return 'another site' if quiet($site);
	my $server = $site->accept;
	syswrite $sock, 'ping';
	return 'no ping' if exactly($server, 4) ne 'ping';
	syswrite $server, 'pong';
	return exactly($sock, 4) eq 'pong' ? 'reached' : 'no pong';
}

sub refused {
	my ($host, @more) = @_;
	my ($sock, $code) = $e->ask(1, $host, $port, @more);
	return ($code // 'none', exactly($sock, 1) eq '');
}

is(reached($good, 'good.example', $port), 'reached', 'a public name');
is(reached($good, 'GOOD.example.', $port), 'reached', 'as others write it');
is(reached($good, PUBLIC, $port), 'reached', 'its address as a name');
is(reached($good, PUBLIC, $port, '4'), 'reached', 'its address as such');
is(reached($good6, PUBLIC6, $port, '6'), 'reached', 'one of IPv6');
is(reached($good6, '[' . PUBLIC6 . ']', $port), 'reached', 'in brackets');
is(reached($good6, 'good6.example', $port), 'reached', 'a name of IPv6');
is(reached($good6, 'both.example', $port), 'reached', 'IPv6 first');
is(reached($good, '::ffff:' . PUBLIC, $port, '6'), 'reached', 'mapped');
is(reached($good, 'mixed.example', $port), 'reached',
    'what is forbidden is left out');
is(reached($good, 'chain.example', $port), 'reached', 'a chain of names');
is(reached($good, 'huge.example', $port), 'reached', 'an answer by TCP');

# What drive says of a host.
sub told {
	my ($host) = @_;
	return $e->expect(qr/^report \d+ \S+ \Q$host\E /) // 'nothing';
}

for my $row (
    [ 'private', PRIVATE, 'class private' ],
    [ 'metadata', METADATA, 'class metadata' ],
    [ 'mapped', PRIVATE, 'class private' ],
    [ 'nat64', '64:ff9b::a9fe:a9fe', 'class metadata' ],
    [ 'sixtofour', '2002:a09:807::1', 'class tunnel' ],
    [ 'ula', ULA, 'class unique local' ],
    [ 'zero', '0.0.0.0', 'class unspecified' ],
    [ 'badchain', METADATA, 'class metadata' ],
    [ 'hugebad', PRIVATE, 'class private' ]) {
	my ($name, $address, $rule) = @$row;
	is_deeply([ refused("$name.example") ], [ 2, 1 ], "$name is refused");
	is(told("$name.example"), "report 1 run_a $name.example $port "
	    . "$address refused $rule", 'and told, with the rule');
}
is((refused('loop.example'))[0], 2, 'a name of the loopback');
like(told('loop.example'), qr/refused class loopback$/, 'told');

is(reached($good, 'rebind.example', $port), 'reached', 'a name, at first');
is((refused('rebind.example'))[0], 2, 'and when it means another address');
like(told('rebind.example'), qr/ @{[PRIVATE]} refused class private$/, 'told');

# Every way in which somebody might write them.
my @spellings = qw(127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1
    0177.0.0.1 0177.1 017700000001 127.0.0.1. 0x7F.0.0.0x1 localhost LOCALHOST
    localhost. x.localhost [::1] ::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1
    [::ffff:7f00:1] 64:ff9b::127.0.0.1 10.9.8.7 10.9.2055 10.591879 168364039
    0xa090807 0xa.9.8.7 012.9.8.7 012.011.010.07 ::ffff:10.9.8.7
    64:ff9b::10.9.8.7 ::10.9.8.7 2002:a09:807::1 169.254.169.254
    169.254.43518 169.16689662 2852039166 0xa9fea9fe 0251.0376.0251.0376
    0xa9.0xfe.0xa9.0xfe ::ffff:a9fe:a9fe 64:ff9b::a9fe:a9fe
    [::ffff:169.254.169.254] fd00:1::1 [fd00:1::1] fd00:0001:0::0001 0 0.0.0.0
    0x0 :: [::] 127.0.0.256 127.0.0.08 1.2.3.4.5 127..1 .127.0.0.1 a.1
    example.0x7f 4294967297 user@127.0.0.1 127.0.0.1%00 127.0.0.1/ [127.0.0.1]
    [::1 ::1%lo 127.0.0.1:80);
my @through = grep { my ($code) = refused($_); $code ne '2' } @spellings;
is("@through", '', scalar @spellings . ' spellings are refused');
for my $host ('127.0.0.1', PRIVATE, METADATA, '0.0.0.0') {
	is((refused($host, '4'))[0], 2, "$host as such");
}
for my $host ('::1', ULA, '::', '::ffff:127.0.0.1', '::ffff:10.9.8.7',
    '64:ff9b::a09:807') {
	is((refused($host, '6'))[0], 2, "$host as such");
}
ok(quiet(@forbidden), 'nobody has connected to what is forbidden');
my %asked = map { $_ => 1 } $dns->asked;
is(join(' ', grep { !/^[a-z0-9]+\.example$/ } sort keys %asked), '',
    'no spelling of an address was resolved');

# Name servers that fail.
for my $row ([ 'nowhere', '' ], [ 'empty', '' ],
    [ 'servfail', 'the name servers failed' ],
    [ 'refused', 'the name servers failed' ]) {
	my ($name, $rule) = @$row;
	is((refused("$name.example"))[0], 4, "$name: no such host");
	is(told("$name.example"), "report 1 run_a $name.example $port - dns "
	    . ($rule || '-'), 'told');
}
for my $name (qw(silent garbage)) {
	is((refused("$name.example"))[0], 4, "$name: no such host in time");
	like(told("$name.example"), qr/ $port - dns /, 'told');
}

# Names that nobody answers for, asked for and given up: a run has only so many
# questions under way, and the others' are answered.
$e->cell(3);
ok($e->bind(3, 'run_s', connections => 8), 'a run that floods name servers');
for (1 .. 256) {
	my $sock = $e->connect(3);
	syswrite $sock, "\5\1\0";
	exactly($sock, 2);
	syswrite $sock, BrowserTask::Egress::request('silent.example', $port);
	close $sock;
}
my (undef, $flooded) = $e->ask(3, 'good.example', $port);
is($flooded, 1, 'its share of questions is used up');
like($e->expect(qr/^report 3 run_s good/), qr/ limit too many lookups$/, 'told');
is(reached($good, 'good.example', $port), 'reached', 'another run goes on');
$e->say('gone 3');

# Lists of the run.
ok($e->bind(1, 'run_b', trust => 'local', allowed => '*.example,10.9.0.0/16',
    forbidden => "chain.example,@{[METADATA]},*:1"), 'a run with lists');
is(reached($good, 'good.example', $port), 'reached', 'what is in the list');
is((refused('chain.example'))[0], 2, 'not what is forbidden');
like($e->expect(qr/^report 1 run_b chain/), qr/forbidden chain.example$/,
    'told');
is((refused(OTHER))[0], 2, 'nor what is not in the list');
like(told(OTHER), qr/not in allowedDomains$/, 'told');
is(reached($forbidden[2], 'private.example', $port), 'reached',
    'a private address of a run of this machine');
is(reached($forbidden[2], PRIVATE, $port), 'reached', 'by its network');
is((refused('metadata.example'))[0], 2, 'but never that of metadata');
is(reached($forbidden[1], 'loop.example', $port), 'reached', 'the loopback');

# What a run of this machine names.
sub near {
	my ($host, $rule) = @_;
	is_deeply([ refused($host) ], [ 2, 1 ], "$host is refused");
	like(told($host), qr/ refused class \Q$rule\E$/, "$host: told");
}
# With the list of allowedDomains that names it.
sub unnamed { return qq(allowedDomains ["*", "$_[0]"] permits it) }
sub unlisted { return qq("$_[0]" in allowedDomains permits it) }
ok($e->bind(1, 'run_n', trust => 'local'), 'a run that names nothing');
near(PRIVATE, 'private: ' . unnamed(PRIVATE));
near('private.example', 'private: ' . unnamed('private.example'));
near('localhost', 'loopback: ' . unnamed('localhost'));
near('ula.example', 'unique local: ' . unnamed('ula.example'));
is(reached($good, 'good.example', $port), 'reached', 'a public name');
ok($e->bind(1, 'run_m', trust => 'local', allowed => '*'), '* names nothing');
near('private.example', 'private: ' . unlisted('private.example'));
ok($e->bind(1, 'run_l', trust => 'local', allowed => '*,private.example'),
    'a run that names one in allowedDomains');
is(reached($forbidden[2], 'private.example', $port), 'reached', 'that one');
near('ula.example', 'unique local: ' . unlisted('ula.example'));
ok($e->bind(1, 'run_i', trust => 'local', names => '10.9.2055,LocalHost.,'
	. 'metadata.example,rebound.example,flips.example,two.example,a..b'),
    'a run whose inputs name hosts');
is(reached($forbidden[2], PRIVATE, $port), 'reached', 'in another spelling');
is(reached($forbidden[0], '127.0.0.1', $port), 'reached', 'the loopback');
near('private.example', 'private: ' . unnamed('private.example'));
near('metadata.example', 'metadata');
is(reached($good, 'rebound.example', $port), 'reached', 'a name, public first');
near('rebound.example', 'private: the name was public before');
is(reached($good, 'two.example', $port), 'reached', 'a name that is both');
near('two.example', 'private: the name was public before');
{
	my ($sock, $code) = $e->ask(1, 'flips.example', $port);
	is($code, 0, 'a name, private first');
	my $server = $forbidden[2]->accept;
	is(reached($good, 'flips.example', $port), 'reached', 'then public');
	is(sysread($sock, my $nothing, 1) // 0, 0,
	    'what is open to its private address ends');
	near('flips.example', 'private: the name was public before');
}
ok($e->bind(1, 'run_k', trust => 'local', names => 'private.example,'
	. 'good.example', kept => 'good.example'), 'a run kept to a host');
is(reached($good, 'good.example', $port), 'reached', 'that one');
is((refused('private.example'))[0], 2, 'and no other, though it is named');
like(told('private.example'), qr/refused not in the client's hosts$/, 'told');
for my $unsafe (1, 22, 25, 6667, 10080) {
	is(($e->ask(1, 'good.example', $unsafe))[1], 2, "port $unsafe");
	like($e->expect(qr/^report 1 run_k good.example $unsafe /),
	    qr/refused a port that is not for web pages$/, 'told');
}
$e->setting('localDomains', '*.example, 10.0.0.0/8');
ok($e->bind(1, 'run_s', trust => 'local'), 'a setting names hosts');
is(reached($forbidden[2], PRIVATE, $port), 'reached', 'by their network');
is(reached($forbidden[1], 'loop.example', $port), 'reached', 'by name');
ok($e->bind(1, 'run_r'), 'a run of a stranger');
near(PRIVATE, 'private');
$e->setting('localDomains', '');

ok($e->bind(1, 'run_c', trust => 'local', names => 'localhost'),
    'a run of this machine');
is(reached($forbidden[1], 'localhost', $port), 'reached', 'localhost');
my ($cut) = $e->ask(1, 'good.example', $port);
my ($kept) = $e->ask(1, PUBLIC, $port);
my @servers = map { scalar $good->accept } 1 .. 2;
$e->setting('forbiddenDomains', 'good.example, *.bad.example');
like($e->expect(qr/^report 1 run_c good/),
    qr/refused setting forbiddenDomains good.example$/,
    'a list that changes is told of what is open');
is(sysread($cut, my $nothing, 1) // 0, 0, 'and ends it');
ok(!IO::Select->new($kept)->can_read(0.2), 'but nothing else');
close $kept;
# The same host and port would be told only once a second.
is(($e->ask(1, 'good.example', $port + 1))[1], 2, 'a list of the service');
like($e->expect(qr/^report 1 run_c good.example @{[$port + 1]} /),
    qr/refused setting forbiddenDomains good.example$/, 'told');
$e->setting('forbiddenDomains', '');
$e->setting('allowedDomains', 'other.example');
is((refused('good.example'))[0], 2, 'the other list of the service');
$e->setting('allowedDomains', '');
is(reached($good, 'good.example', $port), 'reached', 'no list again');
ok(!$e->bind(1, 'run_d', forbidden => 'http://x'), 'a wrong list is refused');
is((refused('metadata.example'))[0], 2, 'and changes nothing');
is($e->stop, 0, 'it ends with its launcher');

# What uids of the service listen on, it refuses to everybody.
SKIP: {
	open my $map, '<', '/proc/self/uid_map' or die;
	skip 'needs root and other uids', 11
	    if $> != 0 || <$map> !~ /^\s*0\s+0\s+4294967295/;
	my $base = 700000;
	my %own;
	for my $address (PUBLIC, '127.0.0.1', '::', PRIVATE) {
		$> = $base + 40;
		$own{$address} = site($address);
		$> = 0;
	}
	my $any = $own{'::'}->sockport;
	$e = BrowserTask::Egress->new(args => [ '-u', $base ]);
	$e->setting('resolver', '127.0.0.1:' . $dns->port);
	$e->cell(1);
	ok($e->bind(1, 'run_o', trust => 'local', allowed => '*,0.0.0.0/0,::/0'),
	    'a run of this machine');
	for my $row ([ PUBLIC, $own{ +PUBLIC }->sockport ],
	    [ '127.0.0.1', $own{'127.0.0.1'}->sockport ], [ '::1', $any ],
	    [ '127.0.0.9', $any ], [ OTHER, $any ], [ 'good.example', $any ],
	    [ PRIVATE, $own{ +PRIVATE }->sockport ]) {
		my ($sock, $code) = $e->ask(1, @$row);
		is($code, 2, "own listener at $row->[0]");
	}
	like(told(PRIVATE), qr/ refused own listener$/, 'told');
	ok(quiet(values %own), 'which see nothing');
	is(reached($good, 'good.example', $port), 'reached',
	    "others' listeners are reached");
}
done_testing();
