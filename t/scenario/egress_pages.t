#!/usr/bin/perl
# Pages that try to get where they must not: every way a page has to make a
# browser send something, and every way to spell an address. In a network
# namespace of its own, where listeners on all addresses and public-looking
# ones on the loopback device tell what arrived. Each way is also aimed at an
# address that is allowed: what does not arrive there proves nothing.
use strict;
use warnings;
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;

# What is public, here; the first is of the pages, the second is aimed at.
my (@public, @secret);
BEGIN {
	@public = qw(93.184.216.34 93.184.216.35 2606:2800:220::35);
	@secret = qw(10.0.0.1 172.16.0.1 192.168.0.1 169.254.169.254
	    100.64.0.1 198.18.0.1 fd00::1 fd00:ec2::254);
}

sub into_namespace {
	my $setup = 'echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start && '
	    . 'ip link set lo up' . join '', map {
		" && ip addr add $_/" . (/:/ ? 128 : 32) . ' dev lo' . (/:/
		    ? ' nodad' : '') } @public, @secret;
	my @as = $> == 0 ? () : qw(--user --map-current-user --keep-caps);
	my $drop = $> == 0 ? '' : 'setpriv --ambient-caps -all --inh-caps -all';

	$ENV{EGRESS_PAGES_INSIDE} = 1;
	$ENV{PATH} .= ':/usr/sbin:/sbin';
	exec 'unshare', @as, '--net', 'sh', '-c',
	    "$setup && exec $drop \"\$@\"", 'sh', $^X,
	    (map { "-I$_" } @INC), $0, @ARGV;
	die "unshare: $!\n";
}

BEGIN {
	if (!$ENV{EGRESS_PAGES_INSIDE}) {
		local $ENV{PATH} = "$ENV{PATH}:/usr/sbin:/sbin";
		plan skip_all => 'no ip or no unshare'
		    if system('ip -V >/dev/null 2>&1 && unshare --version'
			. ' >/dev/null') != 0;
		into_namespace();
	}
}

use BrowserTask::Dns;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure);
use BrowserTask::Trap;

my $F = 8000;    # the port where nothing may arrive
my $hold = '<script>fetch("/hold").catch(() => 0)</script>';
my %page;        # path => [ type, body, headers ]

# Ways. T stands for host:port, W for the way. Those of one page:
my %in_page = (
	img => '<img src="http://T/hit/W">',
	srcset => '<img srcset="http://T/hit/W 1x">',
	picture => '<picture><source srcset="http://T/hit/W"><img></picture>',
	script => '<script src="http://T/hit/W"></script>',
	stylesheet => '<link rel="stylesheet" href="http://T/hit/W">',
	css_import => '<style>@import "http://T/hit/W";</style>',
	css_image => '<div style="background:url(http://T/hit/W)">x</div>',
	font => '<style>@font-face{font-family:f;src:url(http://T/hit/W)}'
	    . '</style><p style="font-family:f">x</p>',
	iframe => '<iframe src="http://T/hit/W"></iframe>',
	srcdoc => '<iframe srcdoc="<img src=http://T/hit/W>"></iframe>',
	data_frame => '<iframe src="data:text/html,<img src=http://T/hit/W>">'
	    . '</iframe>',
	object => '<object data="http://T/hit/W"></object>',
	embed => '<embed src="http://T/hit/W">',
	video => '<video src="http://T/hit/W" autoplay muted></video>',
	audio => '<audio src="http://T/hit/W" preload="auto"></audio>',
	poster => '<video poster="http://T/hit/W"></video>',
	input_image => '<input type="image" src="http://T/hit/W">',
	svg_image => '<svg><image href="http://T/hit/W"/></svg>',
	icon => '<link rel="icon" href="http://T/hit/W">',
	manifest => '<link rel="manifest" href="http://T/hit/W">',
	prefetch => '<link rel="prefetch" href="http://T/hit/W">',
	preload => '<link rel="preload" as="image" href="http://T/hit/W">',
	modulepreload => '<link rel="modulepreload" href="http://T/hit/W">',
	preconnect => '<link rel="preconnect" href="http://T">',
	dns_prefetch => '<link rel="dns-prefetch" href="//W.T">',
	speculation => '<script type="speculationrules">{"prefetch":[{"source":'
	    . '"list","urls":["http://T/hit/W"],"eagerness":"immediate"}],'
	    . '"prerender":[{"source":"list","urls":["http://T/hit/W"],'
	    . '"eagerness":"immediate"}]}</script>',
	module => '<script type="module">import("http://T/hit/W")</script>',
	fetch => 'fetch("http://T/hit/W", { mode: "no-cors" })',
	keepalive => 'fetch("http://T/hit/W", { mode: "no-cors", keepalive: true,'
	    . ' method: "POST", body: "x" })',
	xhr => 'const r = new XMLHttpRequest; r.open("GET", "http://T/hit/W");'
	    . ' r.send()',
	websocket => 'new WebSocket("ws://T/hit/W")',
	eventsource => 'new EventSource("http://T/hit/W")',
	beacon => 'navigator.sendBeacon("http://T/hit/W", "x")',
	ping => 'const a = document.createElement("a"); a.href = "#x";'
	    . ' a.ping = "http://T/hit/W"; a.click()',
	worker => 'new Worker("/worker?T/hit/W")',
	import_scripts => 'new Worker("/imports?T/hit/W")',
	blob_worker => 'new Worker(URL.createObjectURL(new Blob(['
	    . '`fetch("http://T/hit/W", { mode: "no-cors" })`])))',
	shared_worker => 'new SharedWorker("/worker?T/hit/W")',
	service_worker => 'navigator.serviceWorker?.register('
	    . '"/worker?T/hit/W")',
	form_post => 'document.body.insertAdjacentHTML("beforeend", `<iframe '
	    . 'name="f"></iframe><form id="f" target="f" method="post" '
	    . 'action="http://T/hit/W"></form>`); document.forms.f.submit()',
	popup => 'open("http://T/hit/W")',
	stun => 'const p = new RTCPeerConnection({ iceServers: [{ urls: '
	    . '"stun:T" }] }); p.createDataChannel("x");'
	    . ' p.createOffer().then(o => p.setLocalDescription(o))',
	turn => 'const p = new RTCPeerConnection({ iceServers: [{ urls: '
	    . '"turn:T?transport=tcp", username: "u", credential: "c" }] });'
	    . ' p.createDataChannel("x");'
	    . ' p.createOffer().then(o => p.setLocalDescription(o))',
	webtransport => 'new WebTransport("https://T/hit/W")',
	redirected_img => '<img src="/to?302 T/hit/W">',
	redirected_fetch => 'fetch("/to?307 T/hit/W", { mode: "no-cors" })',
	redirected_frame => '<iframe src="/to?301 T/hit/W"></iframe>',
);
my %by_header = (
	link_preload => 'Link: <http://T/hit/W>; rel=preload; as=style',
	link_preconnect => 'Link: <http://T>; rel=preconnect',
	csp_report => 'Content-Security-Policy-Report-Only: img-src'
	    . " 'none'; report-uri http://T/hit/W",
);
# Those that leave the page, one page each.
my %leaving = (
	meta_refresh => '<meta http-equiv="refresh" content="0;'
	    . 'url=http://T/hit/W">',
	location => '<script>location = "http://T/hit/W"</script>',
	form => '<form action="http://T/hit/W"></form><script>'
	    . 'document.forms[0].submit()</script>',
	click => '<a href="http://T/hit/W">x</a><script>'
	    . 'document.links[0].click()</script>',
	download => '<a href="http://T/hit/W" download>x</a><script>'
	    . 'document.links[0].click()</script>',
	top => '<iframe srcdoc="<script>top.location='
	    . "'http://T/hit/W'</script>\"></iframe>",
	replace => '<script>location.replace("http://T/hit/W")</script>',
);
my %answered = (
	redirect => '302',
	redirect_308 => '308',
);
# These must not leave the page at all.
my %schemes = (
	file => 'file:///etc/passwd',
	view_source => 'view-source:http://T/hit/W',
	view_file => 'view-source:file:///etc/passwd',
	chrome => 'chrome://version',
	ftp => 'ftp://T/hit/W',
	filesystem => 'filesystem:http://T/temporary/x',
	ws => 'ws://T/hit/W',
);

sub fill {
	my ($text, $to, $way) = @_;
	return $text =~ s/\bT\b/$to/gr =~ s/\bW\b/$way/gr;
}

sub in_script { return "<script>try { (() => { $_[0] })() } catch (e) {}</script>" }

# The pages of all ways that are aimed at host:port.
sub all_page {
	my ($to) = @_;
	my @headers = map { fill($by_header{$_}, $to, $_) } sort keys %by_header;
	my $body = join "\n", map {
		my $text = fill($in_page{$_}, $to, $_);
		$text =~ /^</ ? $text : in_script($text);
	} sort keys %in_page;
	return [ 'text/html', "<!doctype html><title>all</title><body>$body$hold",
		@headers ];
}

sub answer {
	my ($path, $query) = @_;
	return $page{$path} if $page{$path};
	return [ 'text/plain', 'late', 'Hold: 1.5' ] if $path eq '/hold';
	return [ 'text/javascript', "fetch('http://$query', { mode: 'no-cors' })" ]
	    if $path eq '/worker';
	return [ 'text/javascript', "importScripts('http://$query')" ]
	    if $path eq '/imports';
	return [ 'text/plain', '', "Status: $1 Moved", "Location: http://$2" ]
	    if $path eq '/to' && $query =~ /^(\d+)(?:%20)(.*)/;
	return all_page($query) if $path eq '/all';
	return [ 'text/html', '<title>way</title>' . fill($leaving{$1}, $query, $1) ]
	    if $path =~ m{^/leave/(\w+)} && $leaving{$1};
	return [ 'text/html', '<title>scheme</title><p>stays<script>'
		. 'try { location = "' . fill($schemes{$1}, $query, $1) . '" }'
		. ' catch (e) {} try { open("' . fill($schemes{$1}, $query, $1)
		. '") } catch (e) {}</script><iframe src="'
		. fill($schemes{$1}, $query, $1) . '"></iframe>' ]
	    if $path =~ m{^/scheme/(\w+)} && $schemes{$1};
	return [ 'text/plain', '', "Status: $answered{$1} Found",
		"Location: http://$query/hit/$1" ]
	    if $path =~ m{^/answer/(\w+)} && $answered{$1};
	return [ 'text/html', spelled(split /,/, $query) ]
	    if $path eq '/spelled';
	return [ 'text/html', '<title>rebinds</title>' . in_script(
		    "let n = 0; const go = () => fetch('http://' +"
		    . " location.hostname + ':$F/hit/rebind'"
		    . ", { mode: 'no-cors' }).catch(() => 0).finally(() =>"
		    . ' ++n < 3 && go()); go()') . $hold ]
	    if $path eq '/rebind';
	return [ 'text/html', '<title>alone</title><p>uses another</p>'
		. in_script("fetch('http://$query/plain', { mode: 'no-cors' })"
		    . '.then(() => { document.title = "served" }, () => 0)') ]
	    if $path eq '/uses';
	return [ 'text/plain', 'late', 'Hold: 60' ] if $path eq '/never';
	return [ 'text/html', '<title>hangs</title>' . in_script(
		'for (let i = 0; i < 40; i++) fetch(`http://h${1 + i % 10}'
		. '.test:PORT/never?${i}`, { mode: "no-cors" })'
		=~ s/PORT/$query/r) ]
	    if $path eq '/hang';
	return [ 'text/html', '<title>hit</title>hit' ] if $path =~ m{^/hit/};
	return [ 'text/html', "<title>plain</title><p>plain $query</p>" ]
	    if $path eq '/plain';
	return undef;
}

# Spellings.

sub v4_forms {
	my ($address) = @_;
	my @b = split /\./, $address;
	my $n = $b[0] << 24 | $b[1] << 16 | $b[2] << 8 | $b[3];
	my $wide = join '', map { /\d/ ? chr(0xff10 + $_) : $_ } split //,
	    $address;
	my $hex = sprintf '%02x%02x:%02x%02x', @b;
	my @forms = ($address, "$address.", $n, sprintf('0x%x', $n),
		sprintf('0%o', $n), join('.', map { sprintf '0x%x', $_ } @b),
		join('.', map { sprintf '0%o', $_ } @b),
		join('.', map { sprintf '0x%08x', $_ } @b),
		join('.', map { sprintf '%04o', $_ } @b),
		"$b[0]." . ($b[1] << 16 | $b[2] << 8 | $b[3]),
		"$b[0].$b[1]." . ($b[2] << 8 | $b[3]),
		sprintf('0x%X.%d.0%o.%d', @b), $wide,
		$address =~ s/\./\x{3002}/gr,
		join('', map { sprintf '%%%02x', ord } split //, $address),
		"www.example\@$address", "user:pw\@$address");
	utf8::encode($_) for @forms;
	return @forms, "[::ffff:$address]", "[::ffff:$hex]", "[::$address]",
	    "[64:ff9b::$address]", "[2002:$hex\::]", "[::ffff:0:$address]";
}

my @others = qw([::1] [0:0:0:0:0:0:0:1] [0000::1] localhost LOCALHOST localhost.
    a.localhost 127.1 127.0.1 127.255.255.254 0x7f.1 0177.1 017700000001 0 0.0.0.0
    [::] [fd00::1] [fd00:ec2::254] [fe80::1] [ff02::1] 224.0.0.1 255.255.255.255
    240.0.0.1 192.0.2.1 internal.test both.test metadata.test mapped.test
    %6c%6f%63%61%6c%68%6f%73%74);

# A page that fetches all of these, some at a time. It is loaded when that is
# done, for a frame in it is so only then.
sub spelled {
	my $list = join ',', map { s/\+/:/gr } @_;
	return '<title>spelled</title><body><script>const frame = '
	    . 'document.createElement("iframe"); document.body.append(frame);'
	    . ' frame.contentDocument.open(); const all = "' . $list
	    . '".split(",").map(decodeURIComponent);'
	    . 'const next = async () => { for (let h; (h = all.shift()); ) '
	    . '{ try { await fetch("http://" + h + "/hit/spelled?" + encodeURI'
	    . 'Component(h), { mode: "no-cors" }) } catch (e) {} } };'
	    . 'Promise.all([1,2,3,4,5,6].map(next)).then(() => '
	    . 'frame.contentDocument.close())</script>';
}

my $trap = BrowserTask::Trap->new(\&answer, 80, 443, $F);
my $A = $trap->port;
my $dns = BrowserTask::Dns->new('127.0.0.1', {
	'ok.test' => [ [ $public[0], $public[2] ] ],
	'sub.ok.test' => [ [ $public[0] ] ],
	'other.test' => [ [ $public[1] ] ],
	'b.xn--bcher-kva.test' => [ [ $public[1] ] ],
	'internal.test' => [ [ '192.168.0.1' ] ],
	'metadata.test' => [ [ '169.254.169.254', 'fd00:ec2::254' ] ],
	'mapped.test' => [ [ '::ffff:10.0.0.1' ] ],
	'both.test' => [ [ '10.0.0.1', 'fd00::1' ] ],
	(map { ("h$_.test" => [ [ $public[1] ] ]) } 1 .. 10),
	'rebound.test' => [ [ $public[0] ], [ '10.0.0.1' ] ],
	'rebind.test' => [ [ $public[0] ], [ '10.0.0.1' ] ],
});
my $mode = $> == 0 ? 'system' : 'user';
our $i = BrowserTask::Harness->new(mode => $mode, settings => [
	'resolver=127.0.0.1:' . $dns->port, 'warmCells=1',
	'forbiddenDomains=never.test' ])->start;
our $c = BrowserTask::Client->new($i->client_sock, trust => 'remote');
is($c->{hello}{trust}, 'remote', 'a client of the network');
my %listened;

# Of the whole namespace, and of a browser's.
sub look_at_listeners {
	my ($where, $pid) = @_;
	for my $table (map { "/proc/$pid/net/$_" } 'tcp', 'tcp6') {
		open(my $fh, '<', $table) or next;
		while (<$fh>) {
			my @f = split;
			$listened{$where}{ hex((split /:/, $f[1])[1]) }++
			    if $f[3] eq '0A';
		}
	}
}

sub run {
	my ($urls, $options, %inputs) = @_;
	my $r = batch($c, $urls, { mode => 'async', resources => 'all',
		    %{ $options // {} } }, concurrency => 5, %inputs);
	BAIL_OUT("refused: $r->{errorCode} $r->{message}") if !$r->{runId};
	look_at_listeners('machine', $$);
	wait_until(60, sub {
		my %parts = parts($i, $r->{runId});
		look_at_listeners('browser', $_) for @{ $parts{browser} };
		return $listened{browser} || get($c, $r->{runId})->{endedAt};
	});
	ended($c, $r->{runId}, 120);
	look_at_listeners('machine', $$);
	my $got = get($c, $r->{runId}, 'output');
	my $events = $c->call('run.events', { runId => $r->{runId} })->{events};
	$got->{refusals} = [ map { $_->{data} }
	    grep { $_->{type} eq 'egress_refused' } @$events ];
	return $got;
}

# url => item, of runs that failed as well.
sub told { return map { $_->{url} => $_ } @{ $_[0]{output}{result}{items} } }

sub ways_urls {
	my ($to) = @_;
	my $base = "http://$public[0]:$A";
	return ("$base/all?$to", (map { "$base/leave/$_?$to" } sort keys %leaving),
		map { "$base/answer/$_?$to" } sort keys %answered);
}

sub nothing_arrived {
	my ($taken, $name) = @_;
	is_deeply($taken->{forbidden}, [], $name)
	    or diag explain $taken->{forbidden};
}

my @ways = sort keys %in_page, keys %by_header, keys %leaving, keys %answered;
figure('%d ways out', scalar @ways);
cmp_ok(scalar @ways, '>=', 25, scalar(@ways) . ' ways out are tried');
subtest 'ways out' => sub {
	run([ ways_urls("$public[1]:$A") ]);
	my $allowed = $trap->taken;
	nothing_arrived($allowed, 'what is allowed goes nowhere else');
	my @run;
	my %forbidden;
	for my $to ("10.0.0.1:$F", "internal.test:$F") {
		my $r = run([ ways_urls($to) ]);
		my $taken = $trap->taken;
		nothing_arrived($taken, "nothing arrives at $to");
		m{/hit/(\w+)} && $forbidden{$1}++ for @{ $taken->{forbidden} };
		cmp_ok(scalar @{ $r->{refusals} }, '>', 0,
			"refusals are told of $to");
		my ($host) = split /:/, $to;
		my ($one) = grep { $_->{host} eq $host } @{ $r->{refusals} };
		is($one->{rule}, 'class private', 'with the rule');
		is($one->{port}, $F, 'and the port');
		is($one->{address}, $host eq '10.0.0.1' ? $host : '192.168.0.1',
			'and the address');
	}
	my @came = grep { $allowed->{allowed}{"/hit/$_"} } @ways;
	note(sprintf '%-18s %-8s %s', 'way', 'allowed', 'forbidden');
	note(sprintf '%-18s %-8s %s', $_, $allowed->{allowed}{"/hit/$_"}
		? 'arrived' : '-', $forbidden{$_} ? 'ARRIVED' : '-') for @ways;
	cmp_ok(scalar @came, '>=', 25, scalar(@came)
		. ' of them arrive where they may');
};

# What Chromium by itself sends, without a service around it.
sub bare {
	my ($url) = @_;
	my ($program) = grep { -x } map { "/usr/bin/$_" }
	    qw(chromium-headless-shell chromium);
	my $profile = tempdir(CLEANUP => 1);
	my $pid = fork // die "fork: $!\n";

	if ($pid == 0) {
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		exec $program, '--headless', '--no-sandbox', '--disable-gpu',
		    "--user-data-dir=$profile", '--timeout=8000', '--dump-dom',
		    $url;
		POSIX::_exit(127);
	}
	my $gone = eval { wait_until(60, sub { waitpid($pid, 1) == $pid }) };
	kill 'KILL', $pid if !$gone;
	waitpid $pid, 0 if !$gone;
	return $trap->taken;
}

# A local run: what a page of the internet may not do in a browser it may not
# do here, though the same run may reach what its inputs name.
subtest 'default runs' => sub {
	my $control = bare("http://$public[0]:$A/all?$public[1]:$A");
	my $came = grep { $control->{allowed}{"/hit/$_"} } @ways;
	cmp_ok($came, '>=', 15, "$came ways arrive from a bare Chromium");
	$control = bare("http://$public[0]:$A/all?10.0.0.1:$F");
	figure('%d requests of a public page reach a private address from a bare'
	    . ' Chromium', scalar @{ $control->{forbidden} });
	local $c = BrowserTask::Client->new($i->client_sock);
	is($c->{hello}{trust}, 'local', 'a client of this machine');
	for my $to ("10.0.0.1:$F", "127.0.0.1:$F", "localhost:$F", "[::1]:$F",
	    "[fd00::1]:$F", "internal.test:$F") {
		my $r = run([ ways_urls($to) ]);
		nothing_arrived($trap->taken, "nothing arrives at $to");
		my ($one) = grep { $_->{port} == $F } @{ $r->{refusals} };
		like($one->{rule}, qr/^class [a-z ]+: allowedDomains \["\*", "\S+"\] permits it$/,
			'a refusal says how to permit it');
	}
	my ($named, $near) = map { "http://$_:$A/plain" } '10.0.0.1',
	    'internal.test';
	my %items = told(run([ $named, "http://localhost:$A/plain" ]));
	is($items{$named}{title}, 'plain', 'a private address that inputs name');
	is($items{"http://localhost:$A/plain"}{title}, 'plain', 'and localhost');
	my $leave = "http://$public[0]:$A/answer/redirect?";
	%items = told(run([ $leave . "internal.test:$A" ]));
	my $error = $items{ $leave . "internal.test:$A" }{error};
	is($error->{errorCode}, 'TRUST_LEVEL_NOT_ALLOWED', 'a redirect there')
	    or diag explain \%items;
	like($error->{message}, qr/allowedDomains \["\*", "internal\.test"\] permits/,
		'says how');
	%items = told(run([ $leave . "internal.test:$A" ], {
		    allowedDomains => [ '*', 'internal.test' ] }));
	is($items{ $leave . "internal.test:$A" }{title}, 'hit',
		'named in allowedDomains it is reached');
	nothing_arrived($trap->taken, 'nothing else');
	# A private page that uses another private host: that has to be named.
	my $uses = "http://10.0.0.1:$A/uses?internal.test:$A";
	my $r = run([ $uses ]);
	%items = told($r);
	is($items{$uses}{title}, 'alone', 'not by a page that is private itself');
	my ($warning) = grep { /^pages asked for internal\.test in vain: / }
	    @{ $r->{warnings} };
	my ($list) = ($warning // '') =~ /allowedDomains (\[.*?\]) permits it/;
	is($list, '["*", "internal.test"]', 'a warning says how')
	    or diag explain $r->{warnings};
	%items = told(run([ $uses ], { allowedDomains =>
		    JSON::PP->new->decode($list // '["*"]') }));
	is($items{$uses}{title}, 'served', 'and so it is');
	$r = run([ $uses ], { allowedDomains => [ '10.0.0.1' ] });
	is_deeply($r->{warnings}, [], 'a host that a list leaves out is none');
	$r = run([ $uses =~ s/internal.test/both.test/r ], { allowedDomains => [
		    '*', 'other.test' ] });
	like($r->{warnings}[0] // '', qr/"both\.test" in allowedDomains permits/,
		'a list that names others can have it, too');
	run([ "http://rebound.test:$A/rebind" ]);
	nothing_arrived($trap->taken, 'a name of the inputs, public first');
	%items = told(run([ $named, "http://ok.test:$A/plain" ],
	    { publicOnly => JSON::PP::true }));
	is($items{$named}{error}{errorCode}, 'TRUST_LEVEL_NOT_ALLOWED',
		'publicOnly: no private address');
	is($items{"http://ok.test:$A/plain"}{title}, 'plain', 'the others');
	%items = told(run([ $named, "http://ok.test:$A/plain" ],
	    { clientDomains => [ '10.0.0.0/8' ], allowedDomains => [ '*' ] }));
	is($items{$named}{title}, 'plain', 'clientDomains: what is there');
	is($items{"http://ok.test:$A/plain"}{error}{cause}, 'POLICY_DENIED',
		'nothing else');
};

subtest 'spellings' => sub {
	my @spelled = map { "$_:$F" } (map { v4_forms($_) } qw(127.0.0.1 10.0.0.1
		172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 198.18.0.1)),
	    @others;
	my $escape = sub { join ',', map { s/([^\w.:\[\]@-])/sprintf '%%%02x',
		ord $1/ger } @_ };
	figure('%d spellings', scalar @spelled);
	cmp_ok(scalar @spelled, '>=', 120, scalar(@spelled)
		. ' spellings of forbidden addresses');
	# Port 80 as well, which is written by leaving it out.
	my @plain = grep { !/@/ } map { s/:$F$//r } @spelled;
	my @lists = ([]);
	for (@spelled, @plain) {
		push @lists, [] if length $escape->(@{ $lists[-1] }) > 1500;
		push @{ $lists[-1] }, $_;
	}
	my $many = run([ map { "http://$public[0]:$A/spelled?" . $escape->(@$_) }
		@lists ]);
	nothing_arrived($trap->taken, 'fetched: nothing arrives');
	my @rows = map { $_->{detail} } @{
	    BrowserTask::Client->new($i->admin_sock)->call('audit.list', {
		    runId => $many->{runId}, action => 'egress.refuse',
		    limit => 1000 })->{rows} };
	my ($more) = map { /^(\d+) times more/ } @rows;
	my $told = @{ $many->{refusals} };
	cmp_ok($told, '<=', 100, "$told refusals are events");
	is(@rows, $told + 1, 'and rows of the audit log; the last tells of');
	cmp_ok($told + ($more // 0), '>=', 120, ($more // 0) . ' others');
	my $r = run([ map { "http://$_/" } grep { !/%/ }
		@spelled[ grep { $_ % 5 == 0 } 0 .. $#spelled ] ]);
	nothing_arrived($trap->taken, 'navigated to: nothing arrives');
	my @good = map { "$_:$A" } (v4_forms($public[1]))[ 0 .. 16 ];
	run([ "http://$public[0]:$A/spelled?" . $escape->(@good) ]);
	my $taken = $trap->taken;
	nothing_arrived($taken, 'spellings of what is allowed');
	cmp_ok($taken->{allowed}{'/hit/spelled'} // 0, '>=', 12,
		($taken->{allowed}{'/hit/spelled'} // 0) . ' of '
		. @good . ' arrive');
};

subtest 'names' => sub {
	my $r = run([ "http://ok.test:$A/plain?v", "http://rebind.test:$A/rebind",
		"http://both.test:$A/plain", "http://never.test:$A/plain",
		"http://none.test:$A/plain" ]);
	my $taken = $trap->taken;
	nothing_arrived($taken, 'a name that is another address the next time');
	my %items = told($r);
	is($items{"http://ok.test:$A/plain?v"}{title}, 'plain', 'a name')
	    or diag explain $r;
	is($items{"http://rebind.test:$A/rebind"}{title}, 'rebinds',
		'the page that rebinds was there');
	is($items{"http://both.test:$A/plain"}{error}{errorCode},
		'TRUST_LEVEL_NOT_ALLOWED', 'a name of private addresses');
	is($items{"http://never.test:$A/plain"}{error}{errorCode},
		'INVALID_PARAMETER', 'what the setting forbids');
	like($items{"http://never.test:$A/plain"}{error}{message},
		qr/^never\.test: .*never\.test/, 'with its rule');
	my @asked = $dns->asked;
	is_deeply([ grep { /wpad|localhost|\.local$|\d$/i } @asked ], [],
		'nobody asks for a proxy, for localhost or for addresses');
};

subtest 'schemes' => sub {
	my $to = "$public[1]:$F";
	my $r = run([ map { "http://$public[0]:$A/scheme/$_?10.0.0.1:$F" }
		sort keys %schemes ]);
	nothing_arrived($trap->taken, 'nothing arrives');
	unlike(JSON::PP->new->encode($r), qr/root:x|nobody:x/,
		'and no file is read');
};

subtest 'lists of a run' => sub {
	my ($ok, $sub, $other, $idn) = map { "http://$_:$A/plain" } 'ok.test',
	    'sub.ok.test', 'other.test', 'b.xn--bcher-kva.test';
	my $r = run([ $ok, $sub, $other ], { allowedDomains => [ 'ok.test',
		    '*.ok.test' ] });
	my %items = told($r);
	is($items{$ok}{title}, 'plain', 'what is allowed') or diag explain $r;
	is($items{$sub}{title}, 'plain', 'and what is below it');
	is($items{$other}{error}{errorCode}, 'INVALID_PARAMETER',
		'nothing else');
	is($items{$other}{error}{cause}, 'POLICY_DENIED', 'and why');
	like($items{$other}{error}{message}, qr/^other\.test: .*allowedDomains/,
		'with host and rule');
	is_deeply($r->{allowedDomains}, [ 'ok.test', '*.ok.test' ],
		'the run shows its list');
	my ($told) = grep { $_->{host} eq 'other.test' } @{ $r->{refusals} };
	like($told->{rule}, qr/allowedDomains/, 'the event, too');
	$r = run([ $ok, $idn, $sub ], { forbiddenDomains => [
		    "*.b\x{fc}cher.test:$A", 'sub.ok.test:1' ] });
	%items = told($r);
	is($items{$idn}{error}{cause}, 'POLICY_DENIED', 'a name of any script');
	is($items{$sub}{title}, 'plain', 'a port is a part of a pattern');
	my $bad = batch($c, [ $ok ], { allowedDomains => [ 'ok.test',
		    'http://x' ] });
	is($bad->{errorCode}, 'INVALID_PARAMETER', 'a wrong pattern');
	like($bad->{message}, qr{/options/allowedDomains/1: "http://x"},
		'is named');
	nothing_arrived($trap->taken, 'nothing arrives');
};

# 160 requests without an answer; each host has only 4 of a tab's.
subtest 'pages that hang' => sub {
	my $base = "http://$public[0]:$A";
	my $r = run([ (map { "$base/hang?$A" } 1 .. 4), map {
		"$base/plain?$_" } 1 .. 3 ]);
	my %items = told($r);
	for (1 .. 3) {
		my $item = $items{"$base/plain?$_"};
		ok($item->{success}, 'another tab loads') or diag explain $item;
		cmp_ok($item->{elapsedMs}, '<', 20000, 'meanwhile');
	}
	my $taken = $trap->taken;
	# More than a browser keeps open to one proxy by default.
	cmp_ok($taken->{allowed}{'/never'} // 0, '>', 32,
		($taken->{allowed}{'/never'} // 0) . ' requests hung');
};

if ($mode eq 'system') {
	subtest 'an instance of a user' => sub {
		my $u = BrowserTask::Harness->new(mode => 'user', settings => [
			'resolver=127.0.0.1:' . $dns->port ])->start;
		local ($i, $c) = ($u, BrowserTask::Client->new($u->client_sock,
			trust => 'remote'));
		my %items = told(run([ "http://ok.test:$A/plain?u",
			"http://$public[0]:$A/all?10.0.0.1:$F",
			"http://10.0.0.1:$F/" ]));
		nothing_arrived($trap->taken, 'nothing arrives');
		is($items{"http://ok.test:$A/plain?u"}{title}, 'plain',
			'what is allowed does');
		is($items{"http://10.0.0.1:$F/"}{error}{errorCode},
			'TRUST_LEVEL_NOT_ALLOWED', 'what is not says so');
		is(($u->stop // -1) >> 8, 0, 'it ends well');
	};
}

subtest 'no debugging port' => sub {
	is_deeply([ sort { $a <=> $b } keys %{ $listened{browser} } ], [ 1080 ],
		'a browser\'s network has one listener');
	my %ours = map { $_ => 1 } 80, 443, $F, $A, $dns->port;
	is_deeply([ grep { !$ours{$_} } keys %{ $listened{machine} } ], [],
		'and nobody else listens');
};

is(($i->stop // -1) >> 8, 0, 'the service ends well');
done_testing();
