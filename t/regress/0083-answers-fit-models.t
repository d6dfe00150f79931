#!/usr/bin/perl
# What a model reads is paid by the token, and clients cut at 25,000: the list of
# tools and of templates, the calls that are suggested, one item of fifty, text
# beyond ASCII, pictures. The real browser, through the real adapter.
use strict;
use warnings;
use utf8;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure);
use File::Temp qw(tempdir);
use JSON::PP ();
use MIME::Base64 qw(decode_base64);
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

use constant { PAGES => 12, TOKENS => 25_000, TOOLS_BYTES => 16 << 10,
	TEMPLATES_BYTES => 8 << 10 };
my $json = JSON::PP->new->utf8->canonical;
my $dir = tempdir('bt-fits-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
my $cjk = "浏览器任务持久运行 \x{1f642} ";
for my $n (1 .. PAGES) {
	open(my $fh, '>:utf8', "$dir/p$n.html") or die;
	print $fh "<!DOCTYPE html><meta charset=utf-8><title>第 $n 页</title>",
	    "<h1>第 $n 页</h1><p>", $cjk x 300, "<p>the \"last\" words $n";
	close $fh;
}
my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my $m = BrowserTask::Mcp->new(instance => $i);
$m->init;

# A token is three bytes of ASCII or two thirds of a character beyond it: more
# than any tokenizer in use makes of what is tested here.
sub tokens {
	my ($text) = @_;
	my $ascii = () = $text =~ /[\x00-\x7f]/g;
	return $ascii / 3 + 1.5 * (length($text) - $ascii);
}

sub texts { return join "\n", map { $_->{text} // '' } @{ $_[0]{content} } }

# The lists.
my $list = $m->request('tools/list');
my $line;
do { $line = $m->raw(60) } until $line =~ /"id":$list\b/;
cmp_ok(length $line, '<=', TOOLS_BYTES,
	'tools/list: ' . length($line) . ' bytes');
my $r = $m->tool('list_task_templates');
my $bytes = length $r->{content}[0]{text};
cmp_ok($bytes, '<=', TEMPLATES_BYTES, "list_task_templates: $bytes bytes");
my @short = @{ $r->{structuredContent}{templates} };
is_deeply([ sort keys %{ $short[0] } ],
	[qw(allInputs description id requiredInputs version)], '... in short');
is($r->{structuredContent}{nextActions}[1]{tool}, 'list_task_templates',
	'... and how to have more');
my $full = $m->tool('list_task_templates', { full => JSON::PP::true })
    ->{structuredContent}{templates};
is_deeply([ map { $_->{id} } @$full ], [ map { $_->{id} } @short ],
	'... full has the same');
my ($one) = @{ $m->tool('list_task_templates', { templateId =>
	'batch_extract_pages' })->{structuredContent}{templates} };
is_deeply($one, (grep { $_->{id} eq 'batch_extract_pages' } @$full)[0],
	'... and one of them is told in full');
ok($one->{outputs} && $one->{inputs}{properties} && $one->{exampleInputs},
	'... with its schemas and examples');

# A batch whose pages are long.
my $run = $m->tool('run_task_template', { templateId => 'batch_extract_pages',
	inputs => { urls => [ map { $site->url("/p$_") } 1 .. PAGES ],
	    extract => { maxContentLength => 20000 }, csv => JSON::PP::true },
	options => { mode => 'sync', timeoutMs => 240000 } });
is($run->{structuredContent}{status}, 'succeeded', 'a batch of '
	. PAGES . ' pages') or diag explain $run->{structuredContent}{error};
unlike(texts($run), qr/\\u[0-9a-f]{4}/, 'its answer spells letters as letters');
my @get = grep { $_->{tool} eq 'get_artifact' }
    @{ $run->{structuredContent}{nextActions} };
cmp_ok(scalar @get, '>=', 2, 'calls of get_artifact are suggested');
my %doc = map { $_->{artifactId} => $_ }
    @{ $run->{structuredContent}{artifacts} };
my ($id) = grep { $doc{$_}{kind} eq 'extraction' } keys %doc;
for my $action (@get) {
	my $a = $action->{arguments};
	my $answer = $m->tool('get_artifact', $a);
	my $name = $doc{ $a->{artifactId} }{name};
	my $text = texts($answer);
	my $chunk = $answer->{structuredContent};

	cmp_ok(tokens($text), '<=', TOKENS,
		sprintf('%s: the suggested call has %d tokens at most', $name,
		    tokens($text)));
	cmp_ok(tokens(JSON::PP->new->encode($chunk)), '<=', TOKENS,
		'... the structured content as well');
	is_deeply([ sort keys %$chunk ], [qw(artifactId complete data length
		mimeType offset totalSize)], '... has the seven members');
	is($answer->{content}[1]{text}, $chunk->{data},
		'... and its text comes as text');
	my $head = $m->doc($answer);
	is_deeply($head, { map { $_ => $chunk->{$_} } grep { $_ ne 'data' }
		keys %$chunk }, '... behind what there is to say of it');
	unlike($chunk->{data}, qr/\\u[0-9a-f]{4}/, '... without escapes');
}
cmp_ok($doc{$id}{totalSize}, '>', 100000, 'the extraction is long');

# One item of it, one text of that.
sub part {
	my (%what) = @_;
	my $answer = $m->tool('get_artifact', { artifactId => $id, %what });
	return ($answer->{structuredContent} // $m->doc($answer), $answer);
}

my $whole = $json->decode(artifact($c, $id));
my ($p) = part(item => 4);
is_deeply($json->decode(do { my $t = $p->{data}; utf8::encode($t); $t }),
	$whole->[4], 'item: one of the list');
is($p->{mimeType}, 'application/json', '... as JSON');
my $sections = $whole->[4]{content}{sections};
my ($n) = grep { $sections->[$_]{text} =~ /last/ } 0 .. $#$sections;
for my $how ([ select => "/4/content/sections/$n/text" ],
    [ item => 4, select => "/content/sections/$n/text" ]) {
	my ($text, $answer) = part(@$how);
	is($text->{data}, $sections->[$n]{text}, "@$how: the text itself");
	is($text->{mimeType}, 'text/plain', '... as text');
	is($answer->{content}[1]{text}, $sections->[$n]{text},
		'... not escaped twice');
}
my ($cut) = part(select => '/0/content/sections/0/text', limit => 1);
my ($rest) = part(select => '/0/content/sections/0/text',
	offset => $cut->{length});
is($cut->{data} . $rest->{data}, $whole->[0]{content}{sections}[0]{text},
	'offset and limit are of what was selected, and cut no character');
is($rest->{complete}, JSON::PP::true, '... up to its end');
for my $bad ([ qr{^/item: the list has @{[PAGES]} items}, item => 99 ],
    [ qr{^/select: nothing is at /0/nothing; /0 is an object},
	select => '/0/nothing/x' ],
    [ qr{^/select: expected a JSON pointer}, select => '0' ],
    [ qr{^/item: expected an integer}, item => -1 ],
    [ qr{^offset is behind the end}, item => 0, offset => 1 << 30 ]) {
	my ($why, @what) = @$bad;
	my ($e) = part(@what);
	like($e->{message}, $why, "@what: refused, and why");
	is($e->{errorCode}, 'INVALID_PARAMETER', '... as a bad argument');
}
my ($csv) = grep { $doc{$_}{kind} eq 'csv' } keys %doc;
like($m->doc($m->tool('get_artifact', { artifactId => $csv, item => 0 }))
	->{message}, qr/for JSON; this is text\/csv/, 'of JSON only');

figure('tools/list: %d bytes, list_task_templates: %d', length $line, $bytes);
$m->eof;
is($m->wait, 0, 'the adapter ends');
is($i->stop, 0, 'stops');
is(left(2, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
