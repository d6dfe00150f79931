#!/usr/bin/perl
# A screenshot came as base64 inside of text, in chunks, which no model sees. It
# is an image of the answer, whole, as long as it is not asked for in pieces.
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
	inputs => { do => [qw(pic item)] }, options => { mode => 'sync' } })
    ->{structuredContent};
is($run->{status}, 'succeeded', 'a run with a picture')
    or diag explain $run;
my ($row) = grep { $_->{kind} eq 'screenshot' } @{ $run->{artifacts} };
my ($hint) = grep { ($_->{arguments}{artifactId} // '') eq
	$row->{artifactId} } @{ $run->{nextActions} };
is_deeply($hint->{arguments}, { artifactId => $row->{artifactId} },
	'is suggested whole');
is($row->{totalSize}, 300_000, '... which is longer than a chunk');
# As t/scenario/scripted.c makes them.
my $bytes = pack('C*', map { $_ * 7 + int($_ / 256) & 255 } 0 .. 49_999) x 6;

my $r = $m->tool($hint->{tool}, $hint->{arguments});
my $image = $r->{content}[1];
is("$image->{type} $image->{mimeType}", 'image image/png', 'is an image');
ok(decode_base64($image->{data}) eq $bytes, '... of all its bytes');
is_deeply($m->doc($r), { artifactId => $row->{artifactId},
	mimeType => 'image/png', totalSize => 300_000, offset => 0,
	length => 300_000, complete => JSON::PP::true },
	'... behind what there is to say of it');
my $chunk = $r->{structuredContent};
is("$chunk->{length} $chunk->{complete}", '262144 0',
	'the structured content is the first chunk, as ever');
ok(decode_base64($chunk->{data}) eq substr($bytes, 0, 262144),
	'... with its bytes');

$r = $m->tool('get_artifact', { artifactId => $row->{artifactId},
	offset => 262144 });
is($r->{content}[1]{type}, 'text', 'a piece of it is no image');
ok(decode_base64($r->{content}[1]{text}) eq substr($bytes, 262144),
	'... but base64');
$m->eof;
is($m->wait, 0, 'the adapter ends');
is($i->stop, 0, 'stops');
is(left(2), '', 'nothing is left');
done_testing();
