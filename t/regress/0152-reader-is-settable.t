#!/usr/bin/perl
# The window was 1280 by 800 and nothing could be said of the reader: a site in
# another language, or for another width, could not be read as its readers do.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use IO::Socket::INET;
use JSON::PP;
use POSIX ();
use Test::More;

# A page that says what its server was sent and what its script sees.
my $listen = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1')
    or die "listen: $!\n";
my $url = 'http://127.0.0.1:' . $listen->sockport . '/';
my $site = fork() // die;
if ($site == 0) {
	$SIG{PIPE} = 'IGNORE';
	while (my $peer = $listen->accept) {
		my $head = '';
		while ($head !~ /\r\n\r\n/) {
			sysread($peer, $head, 8192, length $head) or last;
		}
		answer($peer, $head);
		close $peer;
	}
	POSIX::_exit(0);
}
close $listen;
END { kill KILL => $site if $site }

sub answer {
	my ($peer, $head) = @_;
	my ($language) = $head =~ /^Accept-Language: (.*?)\r$/mi;
	my ($agent) = $head =~ /^User-Agent: (.{0,20}).*?\r$/mi;
	my $page = '<title>Seen</title><main><h1>Seen</h1><p id="s"></p></main>'
	    . '<script>document.getElementById("s").textContent = ['
	    . 'innerWidth, innerHeight, navigator.language, '
	    . 'navigator.userAgent.slice(0, 20), '
	    . 'Intl.DateTimeFormat().resolvedOptions().timeZone, '
	    . '(1234.5).toLocaleString(), '
	    . encode_json([ $language // 'none', $agent // 'none' ])
	    . '].join(" | ")</script>';

	print $peer "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    . "Connection: close\r\nContent-Length: " . length($page)
	    . "\r\n\r\n$page";
}

my $i = BrowserTask::Harness->new->start;
my $c = client($i);

# What the page says to a run.
sub seen {
	my (%device) = @_;
	my $r = task($c, 'paginated_extract', { startUrl => $url,
		%device ? (device => \%device) : () });

	diag explain $r->{error} if $r->{error};
	my ($line) = encode_json($r->{result}) =~ /(\d+ \| \d+ \| [^"]*)/;
	return $line;
}

like(seen(), qr/^1280 \| 800 \| \S+ \| Mozilla/,
	'without a device a page sees the browser as it is');
is(seen(window => { width => 1920, height => 1080 }, locale => 'de-DE',
	userAgent => 'Harbourer/1.0', timezone => 'Asia/Tokyo'),
	'1920 | 1080 | de-DE | Harbourer/1.0 | Asia/Tokyo | 1.234,5'
	. ' | de-DE,Harbourer/1.0',
	'page and server see window, language, user agent and time zone');
my $narrow = seen(window => { width => 390, height => 844 });
like($narrow, qr/^390 \| 844 \| \S+ \| Mozilla/,
	'what is not given is as the browser has it');
unlike($narrow, qr/de-DE|Tokyo/, 'the next run is not the reader before');
my $r = $c->call('run.submit', { templateId => 'paginated_extract',
	inputs => { startUrl => $url, device => { locale => "de\r\nX: y" } } });
like($r->{message}, qr{device/locale}, 'a locale that is none is refused');
done_testing();
