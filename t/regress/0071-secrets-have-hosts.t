#!/usr/bin/perl
# A stored secret could be filled in at any site by any agent of its user: a page
# sent it back in its title.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Trap;
use File::Temp qw(tempdir);
use Test::More;

my $build = $ENV{builddir} // '.';
my $form = '<title>login</title><form method="post" action="/in">'
    . '<input name="user" autocomplete="username">'
    . '<input name="password" type="password"><button>Sign in</button></form>';
# What a page would learn of each text that comes into a field of it.
my $spy = '<script>addEventListener("input", e => fetch("/got?" +'
    . ' e.target.value.length), true)</script>';
my $site = BrowserTask::Trap->new(sub {
	my ($path, $query) = @_;
	my $port = $query =~ /(\d+)$/ ? $1 : 0;

	return [ 'text/html', $form . $spy ] if $path eq '/login';
	return [ 'text/html', '<title>outside</title><p>frame<iframe width="400"'
	    . " height=\"300\" src=\"http://$query/login\"></iframe>" ]
	    if $path eq '/framed';
	return [ 'text/plain', '', 'Status: 302 Found',
	    "Location: http://$query/login" ] if $path eq '/moved';
	return [ 'text/html', '<title>in</title><p>Welcome' ] if $path eq '/in';
	return [ 'text/html', '' ];
});
my $port = $site->port;
my $dir = tempdir(CLEANUP => 1) . '/secrets';
my $i = BrowserTask::Harness->new(mode => $> == 0 ? 'system' : 'user',
    settings => [ "secretsDir=$dir" ])->start;
my $c = BrowserTask::Client->new($i->client_sock);

# browsertaskctl secret; its status and what it says.
sub secret {
	my ($value, @args) = @_;
	my $said = qx(printf %s '$value' | $build/ctl/browsertaskctl secret @args --dir $dir 2>&1);
	return wantarray ? ($? >> 8, $said) : $? >> 8;
}

sub login {
	my ($url) = @_;
	$site->taken;
	my $r = task($c, 'login_keep_session', { startUrl => $url,
		credentials => { username => { secretRef => 'u' },
		    password => { secretRef => 'p' } } });
	my $told = $site->taken->{allowed};
	return ($r, join ' ', grep { $_ ne '/login' && !/framed|moved|favicon/ }
	    sort keys %$told);
}

sub rows {
	my ($action) = @_;
	return [ map { $_->{detail} } @{ BrowserTask::Client->new($i->admin_sock)
	    ->call('audit.list', { action => $action, limit => 100 })->{rows} } ];
}

is(secret('ada', qw(add u)), 2, 'a secret is not stored without hosts');
is(secret('ada', qw(add u --for-host a..b)), 2, 'nor for what is none');
is(secret('ada', qw(add u --for-host 127.0.0.1 --any-host)), 2, 'nor for both');
is(secret('ada', qw(add u --for-host 127.0.0.1)), 0, 'a user name for one host');
is(secret('canary', qw(add p --for-host), "127.0.0.1:$port,shop.example"), 0,
    'a password for one host and port');

my ($r, $told) = login("http://127.0.0.1:$port/login");
is($r->{status}, 'succeeded', 'at its host a secret is filled in')
    or diag explain $r;
is($told, '/got /in', 'and sent');
ok((grep { $_ eq "p, http://127.0.0.1:$port" } @{ rows('secret.use') }),
    'the audit log says where');

for my $at ("http://localhost:$port/login",
    "http://127.0.0.1:$port/moved?localhost:$port") {
	($r, $told) = login($at);
	is($r->{status}, 'failed', "$at: the run fails");
	is($r->{error}{details}{cause} // $r->{error}{details}{stepErrorCode},
	    'POLICY_DENIED', "$at: by policy") or diag explain $r->{error};
	like($r->{error}{message}, qr{"u"\ is\ not\ for\ http://localhost:$port;\ to
	    .*browsertaskctl\ secret\ hosts\ u\ --for-host}x,
	    "$at: how to permit it");
	is($told, '', "$at: nothing came into a field");
}
ok((grep { $_ eq "u, http://localhost:$port" } @{ rows('secret.refuse') }),
    'the audit log says where not');
is_deeply([ grep { /localhost/ } @{ rows('secret.use') } ], [],
    'and no use there');

for my $at ("http://127.0.0.1:$port/framed?localhost:$port",
    "http://localhost:$port/framed?127.0.0.1:$port") {
	($r, $told) = login($at);
	isnt($r->{status}, 'succeeded', "$at: no form of another origin");
	is($told, '', "$at: nothing came into a field");
}

# As they were stored before.
unlink "$dir/p.hosts" or die "p.hosts: $!";
($r, $told) = login("http://127.0.0.1:$port/login");
is($r->{error}{details}{cause}, 'SECRET_MISSING', 'without hosts it is refused');
like($r->{error}{message}, qr/browsertaskctl secret hosts NAME --for-host HOST/,
    'with the command that mends it');
like((secret('', 'list'))[1], qr/^p .* none .*refused: say secret hosts/m,
    'listed as such');
is(secret('', qw(hosts p --for-host), '127.0.0.1'), 0, 'which is');
($r, $told) = login("http://127.0.0.1:$port/login");
is($told, '/got /in', 'its mend');
is(secret('', qw(hosts q --any-host)), 1, 'a secret that there is not');
is(secret('', qw(remove p)), 0, 'removed');
ok(!-e "$dir/p.hosts", 'with its hosts');
is(($i->stop // -1) >> 8, 0, 'the service ends well');
done_testing();
