#!/usr/bin/perl
# The password "admin" turned the address of the page that a login led to into
# /wp-[secret]/, which no client can open, and its title into
# "Site [secret]istration". canary.lua has random secrets only. What a page shows
# of such a password as a word is still taken out. The real browser.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use IO::Socket::INET;
use POSIX ();
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my %pages = (
	'/login' => '<title>Sign in</title><form method=post action="/wp-admin/">'
	    . '<label>User name<input name=user autocomplete=username></label>'
	    . '<label>Password<input type=password name=pw></label>'
	    . '<button>Sign in</button></form>',
	'/wp-admin/' => '<title>Site administration: admin</title>'
	    . '<h1>Welcome</h1><a href="/logout">Sign out</a>',
);

sub answer {
	my ($c) = @_;
	my $head = '';

	while ($head !~ /\r\n\r\n/) {
		sysread($c, $head, 65536, length $head) or return;
	}
	my ($method, $path) = $head =~ m{^(\w+) (\S+) } or return;
	my $body = '<!DOCTYPE html>' . ($pages{$path} // '');
	my $cookie = $method eq 'POST' ? "Set-Cookie: sid=x1\r\n" : '';
	syswrite $c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n$cookie"
	    . 'Content-Length: ' . length($body)
	    . "\r\nConnection: close\r\n\r\n$body";
}

my $listen = IO::Socket::INET->new(Listen => 64, LocalAddr => '127.0.0.1')
    or die "listen: $!\n";
my $base = 'http://127.0.0.1:' . $listen->sockport;
my $site = fork() // die "fork: $!\n";
if ($site == 0) {
	$SIG{CHLD} = $SIG{PIPE} = 'IGNORE';
	while (my $c = $listen->accept) {
		my $pid = fork() // next;
		next if $pid;
		answer($c);
		POSIX::_exit(0);
	}
	POSIX::_exit(0);
}

my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my $r = task($c, 'login_keep_session', { startUrl => "$base/login",
	credentials => { username => 'root', password => 'admin' } });
is($r->{status}, 'succeeded', 'the login ends well') or diag explain $r;
is($r->{result}{finalUrl}, "$base/wp-admin/", 'its address can be opened');
is($r->{result}{title}, 'Site administration: [secret]',
    'in the title only the word is taken out');
is($i->stop, 0, 'it stops');
is(left(60, $site), '', 'nothing is left');
kill 'KILL', $site;
waitpid $site, 0;
done_testing();
