#!/usr/bin/env perl
# The demo site answers as its tables say. Starts the real server; needs no
# browser. Perl core modules only.
use strict;
use warnings;
use Compress::Zlib ();
use HTTP::Tiny;
use IO::Select;
use IO::Socket::INET;
use IPC::Open2 qw(open2);
use JSON::PP qw(decode_json);
use Test::More;
use Time::HiRes qw(time);

my $srcdir = $ENV{srcdir} // '.';
my $program = ($ENV{builddir} // '.') . '/site/demosite';
my $pages = "$srcdir/site/pages";
my $http = HTTP::Tiny->new(timeout => 20, max_redirect => 0);
my %asserted;

# Starts a server; it ends when its standard input is closed.
sub server_start {
	my @args = @_;
	my $pid = open2(my $out, my $in, $program, '-d', $pages,
	    '--exit-on-eof', @args);
	my $url = <$out> // die "$program did not start\n";
	chomp $url;
	$url =~ s{/$}{};
	my ($port) = $url =~ /:(\d+)$/;
	return { pid => $pid, in => $in, out => $out, url => $url,
		port => $port };
}

# The wait status after end of file on the server's standard input.
sub server_stop {
	my ($s) = @_;
	close $s->{in};
	waitpid($s->{pid}, 0);
	return $?;
}

sub text_of {
	my $file = shift;
	open(my $fh, '<:raw', $file) or die "$file: $!\n";
	local $/;
	return scalar <$fh>;
}

my $site = server_start();

sub get {
	my $path = shift;
	return $http->get("$site->{url}$path");
}

# GET of a path that stands in behave.def; remembers that it was asserted.
sub behaviour {
	my ($row, $path, $status, $like, $name) = @_;
	my $r = get($path);
	$asserted{$row} = 1;
	is($r->{status}, $status, "$path: status $status");
	like($r->{content}, $like, "$path: $name") if defined $like;
	return $r;
}

# A socket on which path was asked for.
sub raw_request {
	my ($path, $head) = @_;
	my $sock = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
	    PeerPort => $site->{port}, Timeout => 10) or die "connect: $!\n";
	$sock->autoflush(1);
	print $sock $head // "GET $path HTTP/1.1\r\nHost: x\r\n\r\n";
	return $sock;
}

sub silent_for {
	my ($sock, $seconds) = @_;
	return !IO::Select->new($sock)->can_read($seconds);
}

sub read_all {
	my $sock = shift;
	local $/;
	return scalar(<$sock>) // '';
}

sub status_of {
	my $sock = shift;
	return -1 if silent_for($sock, 10);
	my $line = <$sock> // '';
	return $line =~ m{^HTTP/1\.[01] (\d+)} ? $1 : -1;
}

# The body of a GET with a Host of one's own.
sub get_as {
	my ($host, $path) = @_;
	my $text = read_all(raw_request($path, "GET $path HTTP/1.1\r\n" .
	    "Host: $host\r\nConnection: close\r\n\r\n"));
	return $text =~ s/^.*?\r\n\r\n//sr;
}

sub log_rows {
	return decode_json(get('/_log')->{content});
}

subtest 'the log counts per host and path' => sub {
	is($http->post("$site->{url}/_log/reset")->{status}, 204, 'reset');
	is_deeply(log_rows(), [], 'empty after a reset, and not in itself');
	get('/missing');
	get('/missing');
	get_as('a.localhost', '/corpus/3?a="b"');
	get_as('b.localhost', '/corpus/3?a="b"');
	is_deeply(log_rows(), [
	    { path => '/missing', host => "127.0.0.1:$site->{port}",
	      count => 2 },
	    { path => '/corpus/3?a="b"', host => 'a.localhost', count => 1 },
	    { path => '/corpus/3?a="b"', host => 'b.localhost', count => 1 },
	], 'host, target and count in order of the first request');
	is(get('/_log/reset')->{status}, 405, 'a reset must be a POST');
	is(scalar @{ log_rows() }, 3, 'a refused reset keeps the log');
};

subtest 'answers with a page' => sub {
	my $t0 = time;
	behaviour('/slow', '/slow', 200, qr/A slow page/, 'the page');
	cmp_ok(time - $t0, '>=', 1.4, '/slow: not before its time');
	behaviour('/missing', '/missing', 404, qr/<h1>This page/, 'a page');
	behaviour('/error', '/error', 500, qr/<h1>Something/, 'a page');
	behaviour('/alert', '/alert', 200, qr/\balert\(/, 'calls alert');
	behaviour('/alert-loop', '/alert-loop', 200,
	    qr/for \(.*; ; .*\)\s*alert\(/, 'calls alert for ever');
	behaviour('/spin', '/spin', 200, qr/while \(true\)/, 'spins');
	behaviour('/spin-now', '/spin-now', 200, qr/while \(true\)/,
	    'spins as it loads');
	behaviour('/mutate', '/mutate', 200, qr/setInterval/, 'mutates');
	behaviour('/popup', '/popup', 200, qr/window\.open/, 'opens windows');
	behaviour('/beforeunload', '/beforeunload', 200, qr/beforeunload/,
	    'asks before it is left');
	behaviour('/late', '/late', 200, qr{src="/behave/late\.js"},
	    'has a script that comes late');
	like(get('/behave/late.js')->{content}, qr{fetch\('/behave/late\.json},
	    '/late: fetches its text');
	for my $way (qw(late chain xhr redirect fail abort never worker
	    beacon)) {
		behaviour("/fetch-$way", "/fetch-$way", 200,
		    qr{src="/behave/fetch\.js"}, 'asks for its text');
		like(get('/behave/fetch.js')->{content}, qr{'/fetch-$way': },
		    "/fetch-$way: has a way to ask");
	}
	behaviour('/frame', '/frame?path=/spin', 200,
	    qr{src="/behave/frame\.js"}, 'frames a page');
	is(scalar @{ decode_json(get('/behave/late.json')->{content})
	    ->{paragraphs} }, 3, '/late: the text is there');
};

subtest 'data that takes its time' => sub {
	my $began = time;

	ok(decode_json(behaviour('/data', '/data?ms=300', 200)->{content})
	    ->{text}, '/data?ms=300: data');
	cmp_ok(time - $began, '>=', 0.3, '/data?ms=300: not before');
	is(get('/data?ms=x')->{status}, 400, '/data?ms=x: refused');
};

subtest 'redirects' => sub {
	my $follow = HTTP::Tiny->new(timeout => 20, max_redirect => 30);
	my %to = ('/redirect' => '/article-harbour', '/moved' =>
	    '/article-harbour', '/redirect-loop' => '/redirect-loop');
	for my $path (sort keys %to) {
		my $r = behaviour($path, $path,
		    $path eq '/moved' ? 301 : 302);
		is($r->{headers}{location}, $to{$path}, "$path: where to");
	}
	is(behaviour('/redirect/', '/redirect/3', 302)->{headers}{location},
	    '/redirect/2', '/redirect/3: one less');
	is(get('/redirect/1')->{headers}{location}, '/article-harbour',
	    '/redirect/1: the article');
	is(get('/redirect/x')->{status}, 404, '/redirect/x: not found');
	my $end = $follow->get("$site->{url}/redirect/12");
	is($end->{status}, 200, 'a chain of 12 ends at a page');
	is(scalar @{ $end->{redirects} }, 12, 'after 12 redirects');
	behaviour('/redirect-data/', '/redirect-data/2', 302);
	$end = $follow->get("$site->{url}/redirect-data/3");
	ok(decode_json($end->{content})->{text}, 'a chain of 3 ends at data');
};

subtest 'answers that are no page' => sub {
	my $r = behaviour('/empty', '/empty', 204);
	is($r->{content} // '', '', '/empty: nothing');
	$r = behaviour('/download', '/download', 200, qr/^month,/, 'a table');
	is($r->{headers}{'content-disposition'},
	    'attachment; filename="report.csv"', '/download: an attachment');
	$r = behaviour('/gzip', '/gzip', 200);
	is($r->{headers}{'content-encoding'}, 'gzip', '/gzip: says so');
	is(Compress::Zlib::memGunzip($r->{content}),
	    text_of("$pages/article-harbour.html"), '/gzip: unpacks');
};

subtest 'bodies of any size' => sub {
	for my $n (0, 1, 65536, 3000001) {
		my $r = behaviour('/big', "/big?n=$n", 200);
		my ($text) = $r->{content} =~ m{<p id="text">(.*?)</p>}s;
		is(length $text, $n, "/big?n=$n: as long as asked for");
	}
	for my $n (1, 3000000) {
		my $r = behaviour('/gzip-bomb', "/gzip-bomb?n=$n", 200);
		my ($z) = Compress::Zlib::inflateInit(
			-WindowBits => -Compress::Zlib::MAX_WBITS());
		my $packed = substr $r->{content}, 10;
		my ($page, $end) = $z->inflate($packed);
		is($end + 0, Compress::Zlib::Z_STREAM_END(),
			"/gzip-bomb?n=$n: unpacks to its end");
		my ($text) = $page =~ /<p>(a+)$/;
		my $off = length($text) - $n;
		ok($off > 0 && $off <= 2064, "/gzip-bomb?n=$n: to what was asked");
		cmp_ok(length $r->{content}, '<', 200 + $n / 158,
			"/gzip-bomb?n=$n: but is small");
	}
	for my $n (0, 1, 20000) {
		my $r = behaviour('/dom', "/dom?n=$n", 200);
		is(scalar(() = $r->{content} =~ /<p>/g), $n,
		    "/dom?n=$n: as many nodes as asked for");
	}
	is(get('/big?n=-1')->{status}, 400, 'a negative size is refused');
	is(get('/dom?n=1000001')->{status}, 400, 'too many nodes are refused');
};

subtest 'what never ends' => sub {
	my %held;
	for my $path ('/never', '/never-image', '/never-style') {
		my $r = behaviour($path, $path, 200, qr{</html>|</body>},
		    'the HTML arrives whole');
		my ($sub) = $r->{content} =~ m{"(/hold/[^"]+)"};
		ok($sub, "$path: has a subresource that is held");
		$held{$sub} = raw_request($sub);
	}
	$held{'/never-headers'} = raw_request('/never-headers');
	$asserted{'/hold/'} = $asserted{'/never-headers'} = 1;
	is(get('/')->{status}, 200, 'others are served meanwhile');
	for my $path (sort keys %held) {
		ok(silent_for($held{$path}, 0.2), "$path: not a byte");
	}
};

subtest 'drop by drop' => sub {
	my $t0 = time;
	my $sock = raw_request('/trickle?ms=1', "GET /trickle?ms=1 HTTP/1.1\r\n" .
	    "Host: x\r\nConnection: close\r\n\r\n");
	my $text = read_all($sock);
	my $size = length text_of("$pages/behave/trickle.html");
	$asserted{'/trickle'} = 1;
	like($text, qr/Transfer-Encoding: chunked/i, 'chunked');
	$text =~ s/^.*?\r\n\r\n//s;
	is(scalar(() = $text =~ /\G1\r\n.\r\n/sg), $size,
	    'a chunk for every byte');
	cmp_ok(time - $t0, '>=', $size * 0.001 * 0.9, 'and time between two');
	is(get('/trickle?ms=x')->{status}, 400, 'a wrong ms is refused');
};

subtest 'a client that leaves frees its place' => sub {
	my $max = 256;
	my @socks = map { raw_request("/hold/place-$_") } 0 .. $max;
	my @answered = IO::Select->new(@socks)->can_read(10);
	is(scalar @answered, 1, 'one more than the limit is turned away');
	is(status_of($answered[0]), 503, 'with a 503');
	my @leavers = grep { $_ != $answered[0] } @socks;
	my @next;
	$leavers[1]->sockopt(SO_LINGER, pack('ii', 1, 0));
	for my $n (0, 1) {
		close $leavers[$n];
		get('/_log');
		push @next, raw_request("/hold/next-$n");
		ok(silent_for($next[$n], 0.2), 'the free place is taken'
			. ($n ? ', also of one that resets' : ''));
	}
};

subtest 'clients that leave in the middle' => sub {
	for my $path ('/trickle', '/slow', '/big?n=30000000') {
		my $sock = raw_request($path);
		silent_for($sock, 0.05);
		$sock->sockopt(SO_LINGER, pack('ii', 1, 0));
		close $sock;
	}
	is(get('/')->{status}, 200, 'the server goes on');
};

subtest 'the corpus' => sub {
	my (%seen, @sizes);
	$asserted{'/corpus/'} = 1;
	for my $k (1 .. 100) {
		my $html = get("/corpus/$k")->{content};
		my ($title) = $html =~ m{<title>(.*?)</title>};
		$seen{$title} = 1;
		push @sizes, length $html;
	}
	@sizes = sort { $a <=> $b } @sizes;
	is(scalar keys %seen, 100, '100 different titles');
	cmp_ok($sizes[0], '>=', 15000, 'none is below 15 kB');
	cmp_ok($sizes[99], '<=', 217000, 'none is above 217 kB');
	ok(abs($sizes[50] - 86000) < 3000, "the median is $sizes[50] bytes");
	is(get('/corpus/8')->{content}, get('/corpus/8')->{content},
	    'a page does not change');
	is(get_as('t.localhost:8080', '/corpus/8'), get('/corpus/8')->{content},
	    'any Host is answered');
	is(get("/corpus/$_")->{status}, 404, "no page $_")
	    for 0, 101, 'x', '';
	my $other = server_start();
	is($http->get("$other->{url}/corpus/77")->{content},
	    get('/corpus/77')->{content}, 'the same from another server');
	is(server_stop($other), 0, 'which ends with its standard input');
};

subtest 'files' => sub {
	my %types = ('/css/base.css' => 'text/css; charset=utf-8',
	    '/img/plate.svg' => 'image/svg+xml; charset=utf-8',
	    '/behave/late.js' => 'text/javascript; charset=utf-8',
	    '/behave/late.json' => 'application/json; charset=utf-8',
	    '/favicon.ico' => 'image/x-icon',
	    '/' => 'text/html; charset=utf-8');
	for my $path (sort keys %types) {
		is(get($path)->{headers}{'content-type'}, $types{$path},
		    "$path: media type");
	}
	for my $path ('/../urls', '/%2e%2e/urls', '/css/../../urls',
	    '/css/%2e%2e/%2e%2e/urls', '/..%2furls', '/css', '/css/',
	    '/nothing', '/index.html/', '/.hidden', '/a%5c..%5curls') {
		my $s = raw_request($path, "GET $path HTTP/1.1\r\n" .
		    "Host: x\r\nConnection: close\r\n\r\n");
		like(read_all($s), qr{^HTTP/1\.1 404 .*This page is not here}s,
		    "$path: not found, with the page that says so");
	}
	like(read_all(raw_request('', "GET /a%00b HTTP/1.1\r\nHost: x\r\n" .
	    "Connection: close\r\n\r\n")), qr{^HTTP/1\.1 400 },
	    'a NUL in a path is refused');
};

# A form sent, with cookies; the answer.
sub send_form {
	my ($path, $form, $cookie, $query) = @_;
	my $data = $http->www_form_urlencode($form);

	return $http->get("$site->{url}$path?$data",
	    { headers => { Cookie => $cookie // '' } }) if $query;
	return $http->post("$site->{url}$path", { content => $data,
	    headers => { Cookie => $cookie // '',
		'Content-Type' => 'application/x-www-form-urlencoded' } });
}

sub cookies_of {
	my ($r) = @_;
	my $set = $r->{headers}{'set-cookie'} // [];
	return ref $set ? @$set : $set;
}

subtest 'logins' => sub {
	my %right = (user => 'ada', password => 'secret-ada');
	my $sid = 'sid=' . unpack 'H*', 'ada';

	$asserted{"/account/$_"} = 1 for qw(user login member logout);
	my $r = send_form('/account/login', \%right);
	is($r->{headers}{location}, '/account/member', 'a right password');
	like((cookies_of($r))[0],
	    qr{^$sid; Path=/; HttpOnly; SameSite=Lax$}, 'a session cookie');
	is(scalar(my @one = cookies_of($r)), 1, 'and no other');
	$r = send_form('/account/login', { %right, same => 'strict',
	    remember => 1 });
	like((cookies_of($r))[0], qr/SameSite=Strict/, 'a strict one');
	like((cookies_of($r))[1], qr/^remember=yes.*Max-Age/, 'one that stays');
	$r = send_form('/account/login', \%right, '', 1);
	is($r->{headers}{location}, '/account/member', 'sent in the address');
	for my $wrong ('wrong', 'ada', '') {
		$r = send_form('/account/login',
		    { %right, password => $wrong });
		is($r->{headers}{location}, '/try/login-wrong',
		    "wrong: '$wrong'");
		is(join('', cookies_of($r)), '', 'and no cookie');
	}
	is(send_form('/account/login', { %right, api => 1 })->{status}, 204,
	    'by script');
	is(send_form('/account/login', { api => 1 })->{status}, 401,
	    'by script, wrong');
	$r = send_form('/account/user', { user => 'ada' });
	is($r->{headers}{location}, '/try/login-password', 'the first step');
	my ($who) = (cookies_of($r))[0] =~ /^([^;]+)/;
	$r = send_form('/account/login', { password => 'x-ada' },
	    "a=b; $who; c=d");
	is($r->{headers}{location}, '/account/member', 'the second step');
	is(get('/account/member')->{headers}{location}, '/try/login',
	    'a stranger is sent away');
	$r = send_form('/account/member', {}, "x=y; $sid", 1);
	like($r->{content}, qr{Signed in as <b>ada</b>}, 'a member is not');
	like((cookies_of(get('/account/logout')))[0], qr/^sid=;.*Max-Age=0/,
	    'the end of it');
};

subtest 'forms and lists' => sub {
	$asserted{'/echo'} = $asserted{'/list/'} = 1;
	my $r = send_form('/echo', [ name => 'A & <b>', text => 'x y' ]);
	like($r->{content}, qr{<dt>name</dt><dd>A &amp; &lt;b&gt;</dd>},
	    'what was sent');
	like($r->{content}, qr{<dt>text</dt><dd>x y</dd>}, 'all of it');
	my %next = (links => [ 1, 0 ], zh => [ 1, 0 ], dead => [ 1, 1 ],
	    repeat => [ 1, 1 ]);
	for my $kind (sort keys %next) {
		my @has = map { get("/list/$kind?page=$_&of=2")->{content}
			=~ /class="next"/ ? 1 : 0 } 1, 2;
		is_deeply(\@has, $next{$kind}, "$kind: the way to the next");
	}
	like(get('/list/links?page=2')->{content}, qr/Thing 6 of/, 'things');
	is(get($_)->{status}, 404, $_) for '/list/links?page=5', '/list/x',
	    '/list/links?page=0';
};

subtest 'limits' => sub {
	is(status_of(raw_request('', "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " .
	    ('y' x 20000) . "\r\n\r\n")), 400, 'long headers are refused');
	is(status_of(raw_request('', "POST / HTTP/1.1\r\nHost: x\r\n" .
	    "Content-Length: 2000000\r\n\r\n")), 413,
	    'a large body is refused');
	is(status_of(raw_request('', "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n")),
	    501, 'a method beyond GET and POST is refused');
	is(get('/')->{status}, 200, 'the server goes on');
};

subtest 'the pages hold together' => sub {
	my (%checked, @broken);
	my @files = map { s{^\Q$pages\E}{}r }
	    glob("$pages/*.html $pages/try/*.html");
	cmp_ok(scalar @files, '>=', 16, 'there are pages');
	for my $file (@files) {
		my $html = text_of("$pages$file");
		for my $ref ($html =~ /\b(?:href|src|action)="([^"]*)"/g) {
			next if $ref =~ m{^(?:#|data:|mailto:)};
			$ref =~ s/[#?].*//;
			push @broken, "$file: $ref" if $ref !~ m{^/};
			next if $ref !~ m{^/} || $checked{$ref}++;
			next if $asserted{$ref} || $ref =~ m{^/hold/};
			push @broken, "$file: $ref"
			    if get($ref)->{status} !~ /^(?:200|302)$/;
		}
	}
	is(join("\n", @broken), '', 'every link of every page leads somewhere');
};

subtest 'the list of the demo' => sub {
	my @paths = grep { /^\S/ && !/^#/ }
	    split /\n/, text_of("$srcdir/site/urls");
	my %want = ('/missing' => 404, '/redirect' => 302);
	cmp_ok(scalar @paths, '>=', 12, 'has at least 12 pages');
	for my $path (@paths) {
		is(get($path)->{status}, $want{$path} // 200, $path);
	}
	for my $path ('/missing', '/slow', '/redirect', '/never') {
		ok((grep { $_ eq $path } @paths), "$path is among them");
	}
};

subtest 'options' => sub {
	pipe(my $ready, my $ready_w) or die "pipe: $!\n";
	$^F = fileno $ready_w;
	fcntl($ready_w, 2, 0);
	my $slow = server_start('--delay-ms', '300', '--ready-fd',
	    fileno $ready_w);
	close $ready_w;
	is(read_all($ready), "\n", '--ready-fd gets one line and is closed');
	my $t0 = time;
	is($http->get("$slow->{url}/corpus/1")->{status}, 200, 'delayed');
	cmp_ok(time - $t0, '>=', 0.29, '--delay-ms delays every answer');
	my $port = $slow->{port};
	kill 'TERM', $slow->{pid};
	is(server_stop($slow), 0, 'SIGTERM ends it without an error');
	my $again = server_start('-p', $port, '-a', '127.0.0.1');
	is($again->{port}, $port, '-p takes the port');
	is(server_stop($again), 0, 'end of file ends it');
	for my $args ('-p 70000', '-x', 'extra', '--delay-ms -1') {
		is(system("$program $args >/dev/null 2>&1") >> 8, 2,
		    "$args: usage");
	}
	is(system("$program -d /nonexistent >/dev/null 2>&1") >> 8, 1,
	    'no page directory: it says so and ends');
};

my @rows = text_of("$srcdir/site/behave.def") =~ /^BEHAVIOUR\("([^"]+)"/mg;
cmp_ok(scalar @rows, '>', 20, 'behave.def has rows');
is(join(' ', grep { !$asserted{$_} } @rows), '',
    'every row of behave.def was asserted');
is(server_stop($site), 0, 'the server ends with its standard input');
done_testing();
