#!/usr/bin/perl
# What the MCP contract wants of the service, over the control socket. The
# worker is t/scenario/scripted, which does what a run's inputs say.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $i = BrowserTask::Harness->new(
	programs => { workerd => "$build/t/scenario/scripted" },
	settings => [ 'maxConcurrentRuns=2' ])->start;
my $c = client($i);

sub client {
	my ($instance, @how) = @_;
	return BrowserTask::Client->new($instance->client_sock, @how);
}

sub script {
	my ($client, $words, %options) = @_;
	my $template = delete $options{template} // 'scripted';
	return $client->run($template, { do => [ split ' ', $words ] },
		\%options);
}

subtest 'levels of trust' => sub {
	my $remote = client($i, trust => 'remote');
	is($c->{hello}{trust}, 'local', 'a client of the socket is local');
	is($remote->{hello}{trust}, 'remote', 'one may say it is not');
	is(client($i, trust => 'local')->{hello}{trust}, 'local',
		'or that it is');
	my $p = $remote->call('profile.get');
	is($p->{trustLevel}, 'remote', 'profile: trustLevel');
	ok($p->{isRemote}, 'profile: isRemote');
	is($c->call('profile.get')->{trustLevel}, 'local',
		'of each connection');
	my $r = script($remote, 'item', mode => 'sync');
	is($r->{errorCode}, 'TRUST_LEVEL_NOT_ALLOWED',
		'a template for local clients');
	like($r->{message}, qr/trust level remote/, 'in words');
	is(script($c, 'item', mode => 'sync', template => 'remote')
		->{errorCode}, 'TRUST_LEVEL_NOT_ALLOWED',
		'one for remote clients');
	$r = script($remote, 'trust', mode => 'sync', template => 'remote');
	is($r->{result}{trust}, 'remote', 'the worker is told');
	is_deeply([ @$r{qw(status trustLevel)} ], [ 'succeeded', 'remote' ],
		'and the run says it');
	is(script($c, 'trust', mode => 'sync', template => 'fragile')
		->{result}{trust}, 'local', 'likewise a local one');
	is($remote->call('service.drain')->{details}{cause},
		'TRUST_LEVEL_NOT_ALLOWED', 'a remote client commands nothing');
	my $admin = BrowserTask::Client->new($i->admin_sock,
		trust => 'remote');
	ok(!$admin->{hello}{admin}, 'nor on the socket of administrators');
	my $odd = client($i, raw => 1);
	my $e = $odd->call('hello',
		{ proto => 1, client => 'x', trust => 'full' });
	is($e->{errorCode}, 'INVALID_PARAMETER', 'another level is refused');
	like($e->{message}, qr/trust/, 'by its name');
	ok($odd->closed, 'and the connection ends');
};

$i->stop;
is(left(5), '', 'no process is left');
done_testing();
