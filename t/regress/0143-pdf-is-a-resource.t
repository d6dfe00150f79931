#!/usr/bin/perl
# A file that is neither text nor an image, as a PDF, is an embedded resource of
# the answer, whole, and can be read as the resource it is.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use MIME::Base64 qw(decode_base64);
use Test::More;

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $m = BrowserTask::Mcp->new(instance => $i);
$m->init;
my $run = $m->tool('run_task_template', { templateId => 'scripted',
	inputs => { do => [qw(pdf item)] }, options => { mode => 'sync' } })
    ->{structuredContent};
is($run->{status}, 'succeeded', 'a run with a PDF') or diag explain $run;
my ($row) = grep { $_->{kind} eq 'pdf' } @{ $run->{artifacts} };
my $id = $row->{artifactId};
# As t/scenario/scripted.c makes them.
my $bytes = pack('C*', map { $_ * 7 + int($_ / 256) & 255 } 0 .. 49_999) x 6;

my $r = $m->tool('get_artifact', { artifactId => $id });
my $block = $r->{content}[1];
is($block->{type}, 'resource', 'is an embedded resource');
my $blob = delete $block->{resource}{blob};
is_deeply($block->{resource}, { uri => "artifact://$id",
	mimeType => 'application/pdf' }, '... with its address and type');
ok(decode_base64($blob // '') eq $bytes, '... and all its bytes');
is($m->doc($r)->{complete}, JSON::PP::true, '... as it says');

my $read = $m->ask('resources/read', { uri => "artifact://$id" })
    ->{result};
is(scalar @{ $read->{contents} }, 1, 'resources/read: one');
$blob = delete $read->{contents}[0]{blob};
is_deeply($read->{contents}[0], { uri => "artifact://$id",
	mimeType => 'application/pdf' }, '... that resource');
ok(decode_base64($blob // '') eq $bytes, '... with the same bytes');

$r = $m->tool('get_artifact', { artifactId => $id, limit => 10 });
is_deeply([ map { $_->{type} } @{ $r->{content} } ], [qw(text text)],
	'a piece of it is no resource');
$m->eof;
is($m->wait, 0, 'the adapter ends');
is($i->stop, 0, 'stops');
is(left(2), '', 'nothing is left');
done_testing();
