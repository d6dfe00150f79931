#!/usr/bin/perl
# The user name of a login was a secret: a profile's address came back as
# /users/[secret]. It is one only where the caller names a stored secret. The
# real browser.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Trap;
use File::Temp qw(tempdir);
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $build = $ENV{builddir} // '.';
my $form = '<title>Sign in</title><form method=post action="/users/mary-jane">'
    . '<label>User name<input name=user autocomplete=username></label>'
    . '<label>Password<input type=password name=pw></label>'
    . '<button>Sign in</button></form>';
my $site = BrowserTask::Trap->new(sub {
	my ($path) = @_;

	return [ 'text/html', $form ] if $path eq '/login';
	return [ 'text/html', '<title>mary-jane, test123</title><a '
	    . 'href="/logout">Sign out</a>', 'Set-Cookie: sid=x1' ]
	    if $path eq '/users/mary-jane';
	return [ 'text/html', '' ];
});
my $base = 'http://127.0.0.1:' . $site->port;
my $dir = tempdir(CLEANUP => 1) . '/secrets';
my $i = BrowserTask::Harness->new(mode => $> == 0 ? 'system' : 'user',
    settings => [ "secretsDir=$dir" ])->start;
my $c = BrowserTask::Client->new($i->client_sock);

sub login {
	return task($c, 'login_keep_session', { startUrl => "$base/login",
		credentials => { username => $_[0], password => 'test123' } });
}

my $r = login('mary-jane');
is($r->{status}, 'succeeded', 'a login') or diag explain $r;
is($r->{result}{finalUrl}, "$base/users/mary-jane", 'shows the user name');
is($r->{result}{title}, 'mary-jane, [secret]', 'and not the password');

is(system("printf %s mary-jane | $build/ctl/browsertaskctl secret add u"
    . " --for-host 127.0.0.1 --dir $dir 2>/dev/null"), 0, 'one that is stored');
$r = login({ secretRef => 'u' });
is($r->{status}, 'succeeded', 'is filled in') or diag explain $r;
is($r->{result}{finalUrl}, "$base/users/[secret]", 'and is a secret');

my $refused = $c->call('run.submit', { templateId => 'login_keep_session',
	inputs => { startUrl => $base, credentials => {
	    username => { secret => 0 }, password => 'test123' } } });
like($refused->{message}, qr/secret.*cannot be given/,
    'what stands for a secret cannot be given in its place');
is($i->stop, 0, 'it stops');
done_testing();
