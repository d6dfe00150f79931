#!/usr/bin/perl
# Servers, pages and processes that are bad, with the real programs and the
# real browser: what is said of each, word for word; that other pages are read
# beside and after it, the next run succeeds and no process is left.
use strict;
use warnings;
use utf8;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use IO::Socket::INET;
use JSON::PP ();
use POSIX ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8;
my $dir = tempdir('bt-badpages-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;

# Pages of our own, by name; written as bytes.
my %page = (
	invalid => "<title>Caf\xe9 \xff\xfe</title>"
	    . "<p>a\xc3( \xed\xa0\x80 b \xf5\x90 c\x80 tail",
	nul => "<title>nul\0x</title><p>a\0b\x01 end",
	surrogates => '<title>x</title><p id=p>t <a id=a href="/x">l</a><script>'
	    . 'document.title = "a\ud800b"; p.append(" \udc00 end");'
	    . 'a.textContent = "\ud83d"; a.href = "/q?\udfff"</script>',
	robbed => '<title>Robbed</title><p>still there<script>'
	    . 'Object.prototype.toJSON = () => { throw 1 };'
	    . 'Array.prototype.push = JSON.stringify = Promise = null;'
	    . 'document.querySelectorAll = Element.prototype.getAttribute ='
	    . 'null</script>',
	named => '<title>Named</title><form name=querySelectorAll></form>'
	    . '<img name=body><img name=title><form id=f><p>a text'
	    . join('', map { "<input name=$_>" } qw(getAttribute localName
		parentElement checkVisibility closest textContent firstChild
		nextSibling getRootNode id)) . '</form><p>more',
	questions => '<title>Questions</title><p>text<script>'
	    . 'for (;;) { confirm("a"); prompt("b") }</script>',
	deep => '<title>Deep</title>' . '<div>' x 20000 . 'bottom',
	tofile => '<title>To a file</title><p>text<script>'
	    . 'location.href = "file:///etc/passwd"</script>',
	tochrome => '<title>To Chrome</title><p>text<script>'
	    . 'location.href = "chrome://version"</script>',
	todata => '<title>To data</title><p>text<script>'
	    . 'location.href = "data:text/html,<title>evil</title>"</script>',
	clinging => '<title>Clinging</title><p>text<script>'
	    . 'onbeforeunload = () => { for (;;); }</script>',
	onandon => '<title>x</title><script>'
	    . 'location.href = "/onandon?" + Math.random()</script>',
	reloads => '<title>x</title><script>'
	    . 'onload = () => location.reload()</script>',
	storm => '<title>x</title><script>'
	    . 'for (;;) window.open("about:blank")</script>',
	spins => '<title>x</title><script>for (;;);</script>',
);
for my $name (keys %page) {
	open(my $fh, '>:raw', "$dir/$name.html") or die "$name: $!\n";
	my $bytes = "<!DOCTYPE html>$page{$name}";
	print $fh $bytes;
	close $fh;
}

my $site = BrowserTask::Scenario::Site->new;
my $own = BrowserTask::Scenario::Site->new(directory => $dir);
my @servers = ($site->{pid}, $own->{pid});

# Which certificate a TLS server shows: it is made by nobody that is known, and
# the second is out of date besides.
sub tls_server {
	my ($days) = @_;
	my ($key, $request, $cert) = map { "$dir/$_$days.pem" } qw(k r c);
	my $log = "$dir/tls$days.log";
	my $openssl = sub { system("openssl @_ >$log 2>&1") == 0 or return };

	$openssl->(qw(req -new -newkey ec -pkeyopt
		ec_paramgen_curve:prime256v1 -nodes -subj /CN=127.0.0.1
		-keyout), $key, '-out', $request) or return;
	$openssl->(qw(x509 -req -in), $request, '-signkey', $key, '-days',
		$days, '-out', $cert) or return;
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0) {
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', $log);
		open(STDERR, '>&', \*STDOUT);
		exec 'openssl', qw(s_server -www -accept 127.0.0.1:0 -key),
		    $key, '-cert', $cert or POSIX::_exit(127);
	}
	my $port = wait_until(60, sub {
		open(my $fh, '<', $log) or return;
		my ($found) = join('', <$fh>) =~ /^ACCEPT .*:(\d+)$/m;
		return $found;
	});
	push @servers, $pid;
	return $port && { pid => $pid, port => $port };
}

sub own { return map { $own->url("/$_") } @_ }

# Submits the addresses of all rows with a good page behind each, which must be
# read, and holds the items against their rows.
sub begin {
	my ($c, $concurrency, $ms, @rows) = @_;
	my $n = 0;
	my @urls = map { ($_->[0], $site->url('/corpus/' . ++$n)) } @rows;

	return batch($c, \@urls, { mode => 'async' },
		concurrency => $concurrency, navigationTimeoutMs => $ms)
	    ->{runId};
}

sub good_beside {
	my ($r, $name) = @_;
	my @bad = grep { $_->{url} =~ m{/corpus/} && !$_->{success} }
	    @{ $r->{output}{result}{items} };
	is_deeply(\@bad, [], "$name: the pages between are read");
}

# Rows: address, code, cause or undef, message.
sub check_failures {
	my ($c, $run, $name, $attempts, @rows) = @_;
	my $r = ended($c, $run, 320);
	my %item = map { $_->{url} => $_ } @{ $r->{output}{result}{items} };

	is($r->{status}, 'partial_success', "$name: the run goes on")
	    or diag explain $r->{error};
	for my $row (@rows) {
		my ($url, $code, $cause, $message) = @$row;
		my $it = $item{$url};
		my $short = $url =~ s{^https?://127\.0\.0\.1:\d+}{}r;
		is_deeply($it->{error}, { errorCode => $code,
			$cause ? (cause => $cause) : (),
			message => $message }, "$short: $message")
		    or diag explain $it;
		ok(!$it->{success} && !defined $it->{title},
			"$short: is not read");
		is($it->{attempts}, $attempts, "$short: attempts");
	}
	good_beside($r, $name);
	return $r;
}

# A port that nobody listens on, kept free by being bound.
sub closed_port {
	return IO::Socket::INET->new(LocalAddr => '127.0.0.1', Proto => 'tcp')
	    // die "port: $!\n";
}

sub failure {
	my ($url, $message, $cause) = @_;
	return [ $url, 'STEP_EXECUTION_FAILED', $cause // 'NAVIGATION_FAILED',
		$message ];
}

sub refusal {
	my ($url, $message) = @_;
	return [ $url, 'INVALID_PARAMETER', 'URL_NOT_ALLOWED', $message
		// 'only http and https addresses may be opened' ];
}

# Addresses that lead to no page, and pages that never come to rest.
sub failing {
	my ($closed) = @_;
	my $file = 'the address is a file to download, not a page';
	my $on = 'the page keeps loading other documents';
	my $circle = 'the server redirects in a circle '
	    . '(net::ERR_TOO_MANY_REDIRECTS)';

	return (
		refusal('file:///etc/passwd'), refusal('FILE:///etc/passwd'),
		refusal('javascript:alert(1)'), refusal('chrome://version'),
		refusal('view-source:http://127.0.0.1/'),
		refusal('http://', 'the address names no host'),
		refusal("http://a b/", 'the address has a space or control '
			. 'character'),
		failure('http://127.0.0.1:' . $closed->sockport . '/',
			'the server refuses connections '
			. '(net::ERR_CONNECTION_REFUSED)'),
		failure('http://no-such-host.invalid/', 'there is no host of '
			. 'that name (net::ERR_NAME_NOT_RESOLVED)'),
		failure($site->url('/redirect-loop'), $circle),
		failure($site->url('/redirect/1000'), $circle),
		failure($site->url('/empty'),
			'loading was broken off (net::ERR_ABORTED)'),
		failure($site->url('/download'), $file, 'DOWNLOAD_REFUSED'),
		failure($own->url('/onandon'), $on),
		failure($own->url('/reloads'), $on),
		failure($own->url('/storm'), 'the page keeps opening windows'),
	);
}

sub test_tls {
	my ($c) = @_;
	my @tls = map { tls_server($_) } 2, -1;

	plan skip_all => 'no openssl' if @tls < 2;
	my $unknown = q{the server's certificate is signed by nobody known }
	    . '(net::ERR_CERT_AUTHORITY_INVALID)';
	my @rows = (
		(map { failure("https://127.0.0.1:$_->{port}/", $unknown) }
		    @tls),
		failure("http://127.0.0.1:$tls[0]{port}/",
			'the server answered nothing (net::ERR_EMPTY_RESPONSE)'),
		failure("https://127.0.0.1:$site->{port}/",
			'the server does not speak TLS properly '
			. '(net::ERR_SSL_PROTOCOL_ERROR)'));
	my $run = begin($c, 2, 30000, @rows);
	check_failures($c, $run, 'TLS', 1, @rows);
	kill 'TERM', map { $_->{pid} } @tls;
}

# What hangs: tried twice, the second time in a fresh tab.
sub hanging {
	my ($ms) = @_;
	my @what = ([ $site->url('/never-headers'), 'server did not answer' ],
		[ $site->url('/trickle?ms=60000'), 'page did not load' ],
		[ $own->url('/spins'), 'page did not load' ]);

	return map { [ $_->[0], 'NAVIGATION_TIMEOUT', undef,
		"the $_->[1] within $ms ms" ] } @what;
}

# What is odd, but a page: title, last words of its text.
sub odd {
	return ([ own('invalid'), "Caf\x{fffd} \x{fffd}\x{fffd}",
			qr/a\x{fffd}\( \x{fffd}+ b \x{fffd}+ c\x{fffd} tail$/ ],
		[ own('nul'), "nul\x{fffd}x", qr/^a.*b.* end$/ ],
		[ own('surrogates'), "a\x{fffd}b",
			qr/^t \x{fffd} \x{fffd} end$/ ],
		[ own('robbed'), 'Robbed', qr/^still there$/ ],
		[ own('named'), 'Named', qr/^a text\nmore$/ ],
		[ own('questions'), 'Questions', qr/^text$/ ],
		[ own('deep'), 'Deep', qr/^bottom$/ ],
		[ own('tofile'), 'To a file', qr/^text$/ ],
		[ own('tochrome'), 'To Chrome', qr/^text$/ ],
		[ own('todata'), 'To data', qr/^text$/ ],
		[ $site->url('/dom?n=100000'), 'A page of 100000 nodes',
			qr/^node 1\nnode 2\nnode 3/ ],
		[ own('clinging'), 'Clinging', qr/^text$/ ]);
}

# What is large, however small it was sent. Both at once take about what a run
# may have by default.
sub large {
	return ([ $site->url('/big?n=50000000'),
			'A big page of 50000000 bytes', qr/^All of this text/ ],
		[ $site->url('/gzip-bomb?n=1073741824'),
			'A page that is small when packed', qr/^aaaa/ ]);
}

sub check_read {
	my ($c, $run, $name, @rows) = @_;
	my $r = ended($c, $run, 320);
	my %item = items($r);
	my ($art) = artifact_of($r, 'extraction');
	my %full = map { $_->{url} => $_ }
	    @{ $json->decode(artifact($c, $art->{artifact_id})) };

	is($r->{status}, 'succeeded', "$name: all are read")
	    or diag explain $r->{output}{result}{items};
	for my $row (@rows) {
		my ($url, $title, $text) = @$row;
		my $short = $url =~ s{^http://[^/]*}{}r;
		is($item{$url}{title}, $title, "$short: title");
		is($item{$url}{finalUrl}, $url, "$short: it is that page");
		# What stands behind the main part has no room left.
		my ($last) = reverse grep { $_->{text} ne '' }
		    @{ $full{$url}{content}{sections} };
		like($last->{text}, $text, "$short: text");
	}
	good_beside($r, $name);
	is((grep { !$_->{success} || $_->{url} =~ m{/corpus/}
		&& $_->{attempts} != 1 } @{ $r->{result}{items} }), 0,
		"$name: those between at the first attempt") if @rows > 2;
	return %full;
}

# A run that a process is taken from: what it says then.
my %ends = (
	'killed browser' => [ 'KILL', 'browser', 'PAGE_CRASHED',
		'PAGE_CRASHED', 'the browser ended unexpectedly',
		'Submit again: the next run gets a new browser. Leave out '
		    . 'a page that takes too much memory.' ],
	'killed worker' => [ 'KILL', 'worker', 'EXECUTION_ERROR',
		'WORKER_LOST', 'the worker ended unexpectedly',
		q{The run's worker ended unexpectedly; submit again.} ],
	'stopped browser' => [ 'STOP', 'browser', 'PAGE_CRASHED',
		'CDP_UNAVAILABLE', 'a tab could not be closed within 5 s',
		'The browser does not answer; submit again.' ],
	'stopped worker' => [ 'STOP', 'worker', 'EXECUTION_ERROR',
		'WORKER_SILENT', 'the worker did not answer for 3000 ms',
		q{The run's worker stopped answering }
		. 'and was ended; submit again.' ],
);

sub test_ends {
	my ($i, $c) = @_;
	my (%run, %parts);

	for my $name (sort keys %ends) {
		my $mark = $name =~ tr/ /-/r;
		my $r = batch($c, [ $site->url("/never-headers?$mark") ],
			{ mode => 'async' }, navigationTimeoutMs => 3000);
		$run{$name} = $r->{runId};
		wait_until(60, sub {
			my %asked = $site->fetched;
			%{ $parts{$name} } = parts($i, $r->{runId});
			return $asked{"/never-headers?$mark"};
		});
		kill $ends{$name}[0], @{ $parts{$name}{ $ends{$name}[1] } };
	}
	for my $name (sort keys %ends) {
		my (undef, undef, $code, $cause, $message, $hint)
		    = @{ $ends{$name} };
		my $r = ended($c, $run{$name}, 120);
		is($r->{status}, 'failed', "$name: the run fails");
		is_deeply($r->{error}, { errorCode => $code,
			message => $message, recoverHint => $hint,
			retryable => JSON::PP::true, details => {
			failedStep => 'extract_pages', stepErrorCode => $cause,
			cause => $cause } }, "$name: its error")
		    or diag explain $r->{error};
		ok(gone($i, @{ $parts{$name}{all} }),
			"$name: nothing of it is left");
	}
}

# A page whose renderer dies at every attempt; the next is read.
sub test_renderer {
	my ($i, $c) = @_;
	my $url = $site->url('/trickle?ms=60000&crash=1');
	my $r = batch($c, [ $url, $site->url('/login') ], { mode => 'async' },
		concurrency => 1);
	my $asked = sub { my %n = $site->fetched;
		return $n{'/trickle?ms=60000&crash=1'} // 0 };

	for my $n (1, 2) {
		my $over = sub { return $asked->() > $n
		    || get($c, $r->{runId})->{progress}{doneSteps} };
		wait_until(60, sub { $asked->() >= $n });
		# One that is just being born is met the next time.
		wait_until(60, sub {
			my %parts = parts($i, $r->{runId});
			kill 'KILL', @{ $parts{renderer} };
			return wait_until(5, $over);
		});
	}
	check_failures($c, $r->{runId}, 'renderer', 2,
		[ $url, 'PAGE_CRASHED', undef, 'the page was killed, as one is '
		    . 'that takes too much of the memory its run may use '
		    . '(setting runMemoryBytes)' ]);
}

sub check_next {
	my ($i, $c, $name) = @_;
	my $r = batch($c, [ $site->url('/login') ], { mode => 'sync' });

	is($r->{status}, 'succeeded', "the next run succeeds after $name")
	    or diag explain $r;
	is((grep { $_->{cmd} !~ /^(?:supervisord|egressd)/ } tree($i->{pid})), 0,
		"and nothing is left after $name");
}

my $i = BrowserTask::Harness->new(settings => [ 'pingMs=200',
	'silentMs=3000', 'runMemoryBytes=4294967296' ])->start;
my $c = client($i);
my $closed = closed_port();
my @large = large();
my @failing = failing($closed);
my @odd = odd();
my @hanging = hanging(3000);
my $big = begin($c, 2, 120000, @large);
my $hung = begin($c, 3, 3000, @hanging);
my $failed = begin($c, 2, 120000, @failing);
my $strange = begin($c, 1, 120000, @odd);

subtest 'addresses and pages that fail' => sub {
	check_failures($c, $failed, 'failing', 1, @failing);
};
subtest 'TLS' => sub { test_tls($c) };
subtest 'pages that hang' => sub {
	check_failures($c, $hung, 'hanging', 2, @hanging);
};
subtest 'pages that are odd' => sub {
	my %full = check_read($c, $strange, 'odd', @odd);
	is($full{ $own->url('/surrogates') }{content}{links}[0]{href},
		$own->url('/q?%EF%BF%BD'), '/surrogates: its link');
};
subtest 'pages that are large' => sub {
	check_read($c, $big, 'large', @large);
};
check_next($i, $c, 'bad pages');
subtest 'processes that end' => sub { test_ends($i, $c) };
subtest 'a renderer that crashes' => sub { test_renderer($i, $c) };
check_next($i, $c, 'crashes');
is($i->stop, 0, 'stops');
is(left(60, @servers), '', 'nothing is left');
$_->stop for $site, $own;
done_testing();
