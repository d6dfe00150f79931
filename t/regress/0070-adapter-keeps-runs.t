#!/usr/bin/perl
# An agent could send a browser to whatever its user may reach: there was no way
# to keep all runs of one from this machine, or to some hosts.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Trap;
use Test::More;

my $build = $ENV{builddir} // '.';
my $site = BrowserTask::Trap->new(sub { [ 'text/html', '<p>here' ] });
my ($url, $other) = map { "http://127.0.0.$_:" . $site->port . '/' } 1, 2;
my $i = BrowserTask::Harness->new(mode => $> == 0 ? 'system' : 'user')->start;

# The items of a batch, by URL, through an adapter with these arguments.
sub items {
	my ($options, @args) = @_;
	my $m = BrowserTask::Mcp->new(instance => $i, args => \@args);

	$m->init;
	my $r = $m->tool('run_task_template', {
		templateId => 'batch_extract_pages',
		inputs => { urls => [ $url, $other ] },
		options => { mode => 'sync', %$options } });
	my $run = $m->doc($r);
	$run = $m->doc($m->tool('get_task_run', { runId => $run->{runId},
		    include => ['output'] }));
	my $result = $run->{output}{result} // $run->{result};
	$m->eof;
	$m->wait;
	return map { $_->{url} => $_ } @{ $result->{items} };
}

my %item = items({});
ok($item{$url}{success} && $item{$other}{success}, 'both are reached')
    or diag explain \%item;
for my $options ({}, { publicOnly => JSON::PP::false }) {
	%item = items($options, '--public-only');
	is($item{$_}{error}{errorCode}, 'TRUST_LEVEL_NOT_ALLOWED',
		'--public-only: no address of this machine') for $url, $other;
}
for my $options ({}, { clientDomains => ['*'], allowedDomains => ['*'] }) {
	%item = items($options, '--allow-domains', '127.0.0.1,*.example');
	ok($item{$url}{success}, '--allow-domains: one that is named')
	    or diag explain \%item;
	is($item{$other}{error}{cause}, 'POLICY_DENIED', 'no other');
}
my $said = qx($build/mcp/browsertask-mcp --allow-domains http://x 2>&1);
is($? >> 8, 64, 'a wrong pattern is a wrong argument');
like($said, qr/^browsertask-mcp: "http:\/\/x": write the host alone/, 'named');
$said = qx($build/mcp/browsertask-mcp --allow-domains '' 2>&1);
is($? >> 8, 64, '--allow-domains that names no host is one, too');
like($said, qr/names no host/, 'said as such');
is(($i->stop // -1) >> 8, 0, 'the service ends well');
done_testing();
