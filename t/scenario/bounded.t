#!/usr/bin/perl
# Answers are bounded, whatever a page has: 12 MB of text, 50,000 nodes, 10,000
# lines on its console, titles without end. Each answer of each tool is held
# against its limit, what was left out is said and named, and the artifact that
# has it comes whole in chunks of 262,144 bytes at most. The real browser, through
# the real adapter.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

# What an answer may take, and what the adapter adds of its own: a summary, what
# to do next, what it ignored.
use constant { ANSWER_MAX => 24 << 10, HINTS_MAX => 4 << 10,
	CHUNK_MAX => 262144, PAGES => 120 };

my $text_bytes = sized('bytes of text', 12 << 20, 12 << 20);
my $nodes = sized('nodes', 50_000, 50_000);
my $lines = sized('lines on the console', 10_000, 10_000);
my $json = JSON::PP->new->utf8->canonical;
my $true = JSON::PP::true;
my $dir = tempdir('bt-bounded-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;

my $sentence = 'All of this text is here to be long, and it is. ';
my $paragraph = '<p>' . ($sentence x 100);
my $paragraphs = int($text_bytes / length($sentence) / 100) + 1;
my $talk = "<script>for (let n = 1; n <= $lines; n++) {"
    . ' console[["log", "warn", "error", "info"][n % 4]](n + " " + '
    . '"what pages say ".repeat(20)) }'
    . ' document.title = "logged " + console.log.name;</script>';
my %page = (
	text => '<title>Text</title>' . $paragraph x $paragraphs,
	nodes => '<title>Nodes</title>' . join('', map {
		"<a href=/x$_>link $_</a>" } 1 .. $nodes),
	console => "<title>x</title><p>talks$talk",
	all => '<title>x</title>' . $paragraph x $paragraphs . join('', map {
		"<i>$_</i>" } 1 .. $nodes) . $talk,
	title => '<title>' . $sentence x 2000 . '</title><p>short',
);
for my $name (sort keys %page) {
	open(my $fh, '>', "$dir/$name.html") or die "$name: $!\n";
	print $fh "<!DOCTYPE html><meta charset=utf-8>$page{$name}";
	close $fh;
}
my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new(settings => [ 'maxConcurrentRuns=2' ])->start;
my $m = BrowserTask::Mcp->new(instance => $i);
my $c = client($i);
my ($longest, %most) = (0);
$m->init;

# The result of a tool, which is not longer than it may be.
sub bounded {
	my ($tool, $arguments, $name) = @_;
	my $r = $m->tool($tool, $arguments);
	my $doc = $r->{structuredContent};
	my $bytes = length $json->encode($doc // {});

	cmp_ok($bytes, '<=', ANSWER_MAX + HINTS_MAX, "$name: its length");
	is_deeply($m->doc($r), $doc, "$name: the same as text");
	$most{$tool} = $bytes if $bytes > ($most{$tool} // 0);
	return $doc;
}

sub run {
	my ($name, $urls, $extract) = @_;
	return bounded('run_task_template', {
		templateId => 'batch_extract_pages', inputs => { csv => $true,
		    urls => $urls, extract => $extract,
		    navigationTimeoutMs => 120000 },
		options => { mode => 'sync', timeoutMs => 240000 } }, $name);
}

# The bytes of an artifact, through the tool and its chunks.
sub whole {
	my ($id, $limit) = @_;
	my ($bytes, $at) = ('', 0);

	for (;;) {
		my $chunk = $m->tool('get_artifact', { artifactId => $id,
			offset => $at, limit => $limit })->{structuredContent};
		my $data = $chunk->{data} // return;
		utf8::encode($data);
		$longest = length $data if length $data > $longest;
		$bytes .= $data;
		$at += $chunk->{length};
		return $bytes if $chunk->{complete};
		return if $chunk->{length} == 0;
	}
}

sub check_artifacts {
	my ($run, $name) = @_;
	my $list = $c->call('artifact.list', { runId => $run->{runId} });
	my @rows = @{ $list->{artifacts} // [] };

	cmp_ok(scalar @rows, '>=', 3, "$name: has artifacts");
	for my $row (@rows) {
		my $bytes = whole($row->{artifactId}, CHUNK_MAX);
		my $kind = "$name, $row->{kind}";
		is(length($bytes // ''), $row->{totalSize}, "$kind: is whole");
		is(sha256_hex($bytes // ''),
			sha256_hex(whole($row->{artifactId}, 99991) // ''),
			"$kind: the same in odd pieces");
		is(sha256_hex($bytes // ''),
			sha256_hex(artifact($c, $row->{artifactId}) // ''),
			"$kind: and for another client");
	}
	return map { $_->{kind} => $_ } @rows;
}

my @most = (maxContentLength => 50000, maxElements => 1000,
	readability => $true);
for my $case ([ text => 'Text' ], [ nodes => 'Nodes' ],
    [ console => 'logged log' ], [ all => 'logged log' ]) {
	my ($name, $title) = @$case;
	my $r = run($name, [ $site->url("/$name") ], { @most });
	is($r->{status}, 'succeeded', "$name: is read")
	    or diag explain $r;
	is($r->{result}{items}[0]{title}, $title, "$name: to its end");
	my %kind = check_artifacts($r, $name);
	my $doc = $json->decode(whole($kind{extraction}{artifactId}, CHUNK_MAX));
	my $text = join '', map { $_->{text} }
	    @{ $doc->[0]{content}{sections} };
	cmp_ok(length $text, '<=', 50000, "$name: no more text than asked for");
	if ($name =~ /text|all/) {
		cmp_ok(length $text, '>=', 40000, "$name: nor much less");
		ok($doc->[0]{content}{truncated}, "$name: says that it is cut")
		    or diag explain [ keys %{ $doc->[0]{content} } ];
	}
	my $info = $doc->[0]{pageInfo};
	cmp_ok(scalar @{ $info->{elements} }, '<=', 1000,
		"$name: no more elements than asked for");
	if ($name eq 'nodes') {
		is(scalar @{ $info->{elements} }, 1000, "$name: as many");
		is($info->{counts}{link}, $nodes, "$name: all are counted");
		ok($info->{truncated}, "$name: and said to be more");
	}
}

# More than fits into one answer, however short each is cut.
my $r = run('titles', [ map { $site->url("/title?$_") } 1 .. PAGES ],
	{ @most });
for my $how ([ 'at once', $r ], map { [ "with @$_", bounded('get_task_run',
	{ runId => $r->{runId}, include => $_ }, "titles, with @$_") ] }
    [], ['output'], [qw(result output events)]) {
	my ($name, $doc) = @$how;
	my $cut = $doc->{result}{truncated};
	is($doc->{result}{summary}{succeeded}, PAGES, "$name: the summary");
	is($cut->{totalItems}, PAGES, "$name: what was cut is told");
	cmp_ok($cut->{shownItems}, '<', PAGES, "$name: how many are shown");
	is($cut->{shownItems}, scalar @{ $doc->{result}{items} },
		"$name: so many are");
	ok((grep { $_ eq $cut->{artifactId} } @{ $r->{artifactIds} }),
		"$name: the artifact is named");
}
my %kind = check_artifacts($r, 'titles');
is($kind{task_result}{artifactId}, $r->{result}{truncated}{artifactId},
	'the one that has all');
my $all = $json->decode(whole($kind{task_result}{artifactId}, CHUNK_MAX));
is(scalar @{ $all->{result}{items} }, PAGES, 'which it does');

bounded('list_task_runs', {}, 'the list');
my ($after, $seen, $rounds) = (0, 0, 0);
for (;;) {
	my $e = bounded('subscribe_task_run_events', { runId => $r->{runId},
		afterSeq => $after, timeoutMs => 1 }, 'events');
	last if !@{ $e->{events} } || $rounds++ > 1000;
	$seen += @{ $e->{events} };
	$after = $e->{lastSeq};
}
cmp_ok($seen, '>', PAGES, "$seen events, all of them, in $rounds answers");
is($m->tool('get_artifact', { artifactId => $kind{csv}{artifactId},
	limit => CHUNK_MAX + 1 })->{isError}, $true, 'no chunk is longer');
cmp_ok($longest, '<=', CHUNK_MAX, 'none was');

figure('the longest answer of %s: %d bytes', $_, $most{$_})
    for sort keys %most;
figure('the longest chunk: %d bytes', $longest);
$m->eof;
is($m->wait, 0, 'the adapter ends');
is($i->stop, 0, 'stops');
is(left(2, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
