#!/usr/bin/perl
# Pages from submission to result, with the real programs and the real browser:
# what the demo's pages say, what an address that is no page says, when a batch
# is a partial success, and whether the bytes come back as they are.
use strict;
use warnings;
use utf8;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Digest::SHA qw(sha256_hex);
use Encode qw(decode);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $srcdir = $ENV{srcdir} // '.';
my $json = JSON::PP->new->utf8;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
my $site = BrowserTask::Scenario::Site->new;

# Path, page type, title, elements, where it leads to, HTTP status.
my @demo = (
	[ '/news', 'list', qr/^The Tidewater Gazette/ ],
	[ '/article-harbour', 'article', qr/^The harbour that moved twice/ ],
	[ '/article-bread', 'article', qr/^Bread on an island/ ],
	[ '/article-sorting', 'article', qr/^How the sorting office/ ],
	[ '/article-ja', 'article',
		qr/^灯台守が残した四十三冊の天気 - 潮路新聞$/ ],
	[ '/article-zh', 'article',
		qr/^胡同里的修表匠和三百二十个抽屉 - 潮声日报$/ ],
	[ '/article-ar', 'article', qr/^حديقة فوق سطح المكتبة - جريدة المدّ$/ ],
	[ '/article-he', 'article', qr/^הספרייה הנודדת של הגליל - עיתון הגאות$/ ],
	[ '/login', 'login', qr/^Sign in/ ],
	[ '/register', 'register', qr/^Create an account/ ],
	[ '/search', 'search_engine', qr/^Findling$/ ],
	[ '/results?q=harbour', 'search_results', qr/^harbour - Findling/ ],
	[ '/shop', 'list', qr/^Useful things/ ],
	[ '/checkout', 'checkout', qr/^Checkout/ ],
	[ '/dashboard', 'dashboard', qr/^Dashboard/ ],
	[ '/settings', 'settings', qr/^Settings/ ],
	[ '/mail/inbox', 'email_inbox', qr/^Inbox \(9\)/ ],
	[ '/mail/compose', 'email_compose', qr/^New message/ ],
	[ '/missing', 'unknown', qr/^Page not found/, 404 ],
	[ '/slow', 'unknown', qr/^A slow page$/ ],
	[ '/redirect', 'article', qr/^The harbour that moved twice/, 200,
		'/article-harbour' ],
	[ '/late', 'article', qr/^The text that came late$/ ],
	[ '/never', 'unknown', qr/^A page that never finishes loading$/ ],
);

sub slurp {
	my ($path) = @_;
	open(my $fh, '<:encoding(UTF-8)', $path) or die "$path: $!\n";
	local $/;
	return scalar <$fh>;
}

sub demo_paths {
	return grep { m{^/} } split /\n/, slurp("$srcdir/site/urls");
}

# RFC 4180 and nothing looser: rows of cells, undef when it is not well-formed.
sub csv_rows {
	my ($text) = @_;
	my @rows = ([]);

	while ($text =~ /\G(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gc) {
		my ($cell, $end) = ($1 // $2, $3);
		$cell =~ s/""/"/g;
		push @{ $rows[-1] }, $cell;
		push @rows, [] if $end ne ',';
	}
	return if pos($text) != length $text || @{ $rows[-1] };
	pop @rows;
	return @rows;
}

sub csv_of {
	my ($c, $r) = @_;
	my $row = artifact_of($r, 'csv') or return;
	return csv_rows(decode('UTF-8', artifact($c, $row->{artifact_id})));
}

sub extraction_of {
	my ($c, $r) = @_;
	my $row = artifact_of($r, 'extraction') or return;
	my $all = $json->decode(artifact($c, $row->{artifact_id}));
	return map { $_->{url} => $_ } @$all;
}

# What an item says of itself, and what the site says of the page.
sub check_page {
	my ($item, $row) = @_;
	my ($path, $type, $title, $status, $final) = @$row;

	ok($item->{success}, "$path: is read")
	    or diag explain $item;
	is($item->{status}, $status // 200, "$path: HTTP status");
	is($item->{pageType}, $type, "$path: page type");
	like($item->{title}, $title, "$path: title");
	is($item->{finalUrl}, $site->url($final // $path),
		"$path: final address");
	ok(!exists $item->{error}, "$path: no error");
	is($item->{attempts}, 1, "$path: at the first attempt");
}

# Every paragraph of the source, white space aside, in the extraction.
sub check_text {
	my ($path, $full) = @_;
	my $html = slurp("$srcdir/site/pages$path.html");
	my $said = join '', map { $_->{text} } @{ $full->{content}{sections} };
	my @missing;
	my $n = 0;

	$html =~ s{^.*?<main}{}s;
	$html =~ s{</main>.*}{}s;
	$html =~ s{<aside.*?</aside>}{}gs;
	$said =~ s/\s+//g;
	while ($html =~ m{<p>(.*?)</p>}gs) {
		my $text = $1;
		next if $text =~ /<(?:label|input|button|img)/;
		$text =~ s/<[^>]*>//g;
		$text =~ s/&amp;/&/g;
		$text =~ s/\s+//g;
		$n++;
		push @missing, $text if index($said, $text) < 0;
	}
	cmp_ok($n, '>=', 10, "$path: has paragraphs");
	is("@missing", '', "$path: all of its $n paragraphs come back whole");
}

sub check_shop {
	my ($c, $item, $full) = @_;
	my $info = $full->{pageInfo};

	is($info->{counts}{article}, 1500, '/shop: 1,500 articles');
	is($info->{counts}{image}, 1500, '/shop: with an image each');
	cmp_ok($info->{counts}{link}, '>=', 3000, '/shop: with two links each');
	is($item->{elementCount}, $info->{totalElements},
		'/shop: the item counts what the extraction does');
	cmp_ok($item->{elementCount}, '>=', 4500, '/shop: 4,500 elements');
	is(scalar @{ $info->{elements} }, 50, '/shop: 50 of them are told');
	ok($info->{truncated}, '/shop: which is said');
}

# Run object and TaskResult, field by field.
sub check_shape {
	my ($r, $name) = @_;
	my %o = %{ $r->{output} };
	my $good = $r->{status} =~ /^(succeeded|partial_success)$/;
	my $hex32 = qr/^[0-9a-f]{32}$/;

	is_deeply([ sort keys %o ], [ sort qw(version ok trace_id
		facts_snapshot_id facts_snapshot_source task_type result
		artifacts steps trace_lines error) ], "$name: eleven keys");
	is($o{version}, 'task_result_v0', "$name: version");
	ok(JSON::PP::is_bool($o{ok}) && !!$o{ok} eq !!$good, "$name: ok");
	like($o{trace_id}, $hex32, "$name: trace_id");
	is($o{trace_id}, $r->{traceId}, "$name: the same as the run's");
	is($o{task_type}, 'batch_extract_pages', "$name: task_type");
	is(ref $o{$_}, 'HASH', "$name: $_ is an object")
	    for qw(result artifacts);
	is(ref $o{$_}, 'ARRAY', "$name: $_ is an array")
	    for qw(steps trace_lines);
	ok(!(grep { ref || !length } @{ $o{trace_lines} }),
		"$name: of strings");
	ok(@{ $o{steps} } > 0, "$name: there is a step");
	for my $step (@{ $o{steps} }) {
		is_deeply([ sort keys %$step ],
			[ qw(duration_ms error_code meta name ok) ],
			"$name: a step's keys");
		like($step->{name}, qr/^[a-z][a-z0-9_]*$/, "$name: its name");
		like($step->{duration_ms}, qr/^\d+$/, "$name: its time");
		is(ref $step->{meta}, 'HASH', "$name: its meta");
		ok($step->{ok} ? !defined $step->{error_code}
			: length $step->{error_code}, "$name: its code");
	}
	for my $row (map { @$_ } values %{ $o{artifacts} }) {
		ok((grep { $_ eq $row->{artifact_id} }
			@{ $r->{artifactIds} }), "$name: its artifact is known");
	}
	if ($good) {
		is($o{error}, undef, "$name: no error");
		is($r->{error}, undef, "$name: nor in the run");
		is_deeply($o{result}, $r->{result}, "$name: the same result");
		return;
	}
	is($r->{result}, undef, "$name: the run has no result");
	is_deeply([ sort keys %{ $o{error} } ],
		[ qw(code message retryable step) ], "$name: error keys");
	ok(length $o{error}{$_}, "$name: error.$_") for qw(code message step);
	ok(JSON::PP::is_bool($o{error}{retryable}), "$name: error.retryable");
	my ($failed) = grep { !$_->{ok} } @{ $o{steps} };
	is($failed->{name}, $o{error}{step}, "$name: names its failed step");
	is_deeply([ sort keys %{ $r->{error} } ],
		[ qw(details errorCode message recoverHint retryable) ],
		"$name: the run's error");
	is_deeply([ sort keys %{ $r->{error}{details} } ],
		[ qw(cause failedStep stepErrorCode) ], "$name: its details");
}

sub test_demo {
	my ($c) = @_;
	my @paths = demo_paths();

	is_deeply([ map { $_->[0] } @demo ], \@paths,
		'the table above has all of the demo');
	my ($took, $r) = timed(sub {
		my $s = batch($c, [ map { $site->url($_) } @paths ],
			{ mode => 'async' }, concurrency => 5, csv => $true,
			extract => { maxContentLength => 50000 });
		return ended($c, $s->{runId});
	});
	note sprintf '%d pages in %.2f s', scalar @paths, $took;
	is($r->{status}, 'succeeded', 'the demo succeeds')
	    or diag explain $r->{error};
	is_deeply($r->{result}{summary}, { total => scalar @paths,
		succeeded => scalar @paths, failed => 0 }, 'summary');
	is_deeply([ map { $_->{url} } @{ $r->{result}{items} } ],
		[ map { $site->url($_) } @paths ], 'items in order');
	is_deeply($r->{warnings}, [], 'nothing to warn of');
	my %item = items($r);
	my %full = extraction_of($c, $r);
	is(scalar keys %full, scalar @paths, 'the extraction has all');
	for my $row (@demo) {
		my $url = $site->url($row->[0]);
		check_page($item{$url}, $row);
		is($full{$url}{pageInfo}{type}, $row->[1],
			"$row->[0]: the extraction agrees");
		is(scalar @{ $full{$url}{content}{sections} },
			$item{$url}{contentSections},
			"$row->[0]: as many sections as the item says");
	}
	check_shop($c, map { $_->{ $site->url('/shop') } } \%item, \%full);
	check_text($_, $full{ $site->url($_) })
	    for qw(/article-ja /article-zh /article-ar /article-he);
	ok($full{ $site->url('/never') }{partial},
		'/never: is said to be partial');
	like($full{ $site->url('/late') }{content}{sections}[0]{text},
		qr/this is the last/, '/late: its text was waited for');
	check_shape($r, 'succeeded');
	my @rows = csv_of($c, $r);
	is(scalar @rows, 1 + @paths, 'CSV: a header and a row per page');
	is((grep { @$_ != @{ $rows[0] } } @rows), 0, 'CSV: of equal length');
	is_deeply([ map { $_->[3] } @rows[ 1 .. $#rows ] ],
		[ map { $_->{title} } @{ $r->{result}{items} } ],
		'CSV: with the titles');
	return $r;
}

# A port that nobody listens on, kept free by being bound.
sub closed_port {
	return IO::Socket::INET->new(LocalAddr => '127.0.0.1', Proto => 'tcp')
	    // die "port: $!\n";
}

# Addresses that are no page: address, code, cause.
sub bad_addresses {
	my ($closed) = @_;
	my ($step, $input) = qw(STEP_EXECUTION_FAILED INVALID_PARAMETER);

	return (
		[ 'http://127.0.0.1:' . $closed->sockport . '/', $step,
			'NAVIGATION_FAILED' ],
		[ 'http://no-such-host.invalid/', $step, 'NAVIGATION_FAILED' ],
		[ $site->url('/redirect-loop'), $step, 'NAVIGATION_FAILED' ],
		[ $site->url('/empty'), $step, 'NAVIGATION_FAILED' ],
		[ $site->url('/download'), $step, 'DOWNLOAD_REFUSED' ],
		[ 'not an address', $input, 'URL_NOT_ALLOWED' ],
		[ '=1+2', $input, 'URL_NOT_ALLOWED' ],
		[ 'http://', $input, 'URL_NOT_ALLOWED' ],
		[ 'http://127.0.0.1:99999/', $input, 'URL_NOT_ALLOWED' ],
		[ 'file:///etc/passwd', $input, 'URL_NOT_ALLOWED' ],
		[ 'javascript:alert(1)', $input, 'URL_NOT_ALLOWED' ],
		[ 'data:text/html,x', $input, 'URL_NOT_ALLOWED' ],
		[ 'chrome://version', $input, 'URL_NOT_ALLOWED' ],
		[ 'view-source:' . $site->url('/login'), $input,
			'URL_NOT_ALLOWED' ],
	);
}

sub check_bad_items {
	my ($r, @bad) = @_;
	my %item = map { $_->{url} => $_ }
	    @{ $r->{output}{result}{items} // [] };

	for my $row (@bad) {
		my ($url, $code, $cause) = @$row;
		my $it = $item{$url};
		ok($it && !$it->{success}, "$url: fails");
		is_deeply([ @{ $it->{error} }{qw(errorCode cause)} ],
			[ $code, $cause ], "$url: $code, $cause");
		ok(length $it->{error}{message}, "$url: in words");
		is($it->{attempts}, 1, "$url: is not tried again");
	}
}

# Half may fail, not one more.
sub test_threshold {
	my ($c) = @_;
	my $closed = closed_port();
	my @bad = bad_addresses($closed);
	my @bad_urls = map { $_->[0] } @bad;
	my @good = map { $site->url("/corpus/$_") } 1 .. @bad;
	my $try = sub {
		my ($urls, $options) = @_;
		my $s = batch($c, $urls, { mode => 'async', %$options },
			concurrency => 5, csv => $true);
		return ended($c, $s->{runId});
	};

	my $r = $try->([ map { ($bad_urls[$_], $good[$_]) } 0 .. $#good ],
		{ traceId => 'a1' x 16, factsSnapshotId => 'f0' x 32 });
	is($r->{status}, 'partial_success', 'half of the items is enough');
	is_deeply($r->{result}{summary}, { total => 2 * @bad,
		succeeded => scalar @bad, failed => scalar @bad }, 'summary');
	check_bad_items($r, @bad);
	check_shape($r, 'partial');
	ok($r->{output}{ok}, 'partial success is ok');
	is($r->{output}{trace_id}, 'a1' x 16, "the caller's trace id");
	is($r->{output}{facts_snapshot_id}, 'f0' x 32, 'and snapshot');
	is($r->{output}{facts_snapshot_source}, 'input_json', 'from it');
	ok($r->{output}{steps}[0]{ok}, 'failed items are no failed step');
	is($r->{output}{steps}[0]{meta}{failed_items}, scalar @bad,
		'which the step counts');
	my @rows = csv_of($c, $r);
	is(scalar @rows, 1 + 2 * @bad, 'CSV: a row per item, good or bad');
	is((grep { $_->[0] =~ /^[=+\-@\t\r]/ } @rows), 0,
		'CSV: no cell begins like a formula');

	$r = $try->([ @bad_urls, @good[ 1 .. $#good ] ], {});
	is($r->{status}, 'failed', 'one less is not');
	error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'BELOW_THRESHOLD',
		'which is the reason');
	check_shape($r, 'failed');
	is($r->{output}{facts_snapshot_id}, undef, 'no snapshot given');
	is($r->{output}{facts_snapshot_source}, undef, 'so no source');
	check_bad_items($r, @bad);
	is(scalar(grep { $_->{success} } @{ $r->{output}{result}{items} }),
		@good - 1, 'what was read is kept');
	ok(artifact_of($r, 'extraction'), 'in an artifact, too');

	$r = $try->([ $bad_urls[5] ], {});
	is($r->{status}, 'failed', 'nothing read is a failure');
}

# A shop of one's own, with titles that spreadsheets would like to run.
sub test_csv {
	my ($c) = @_;
	my $dir = tempdir('bt-pages-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	my @titles = ('=HYPERLINK("http://x/","y")', '+1', '-2', '@SUM(A1)',
		'a, b', 'say "yes"', "'quoted'", '=1,2', '𝒳 =😀',
		'plain');
	for my $n (0 .. $#titles) {
		my $title = $titles[$n] =~ s/&/&amp;/gr =~ s/</&lt;/gr;
		open(my $fh, '>:encoding(UTF-8)', "$dir/t$n.html") or die;
		print $fh "<!DOCTYPE html><meta charset=utf-8>"
		    . "<title>$title</title><p>$title";
		close $fh;
	}
	chmod 0755, $dir;
	my $own = BrowserTask::Scenario::Site->new(directory => $dir);
	my $r = batch($c, [ map { $own->url("/t$_") } 0 .. $#titles ],
		{ mode => 'sync' }, csv => $true, concurrency => 5);
	$r = get($c, $r->{runId}, 'output');
	is($r->{status}, 'succeeded', 'CSV: pages are read');
	is_deeply([ map { $_->{title} } @{ $r->{result}{items} } ], \@titles,
		'CSV: the result has the titles as they are');
	my @rows = csv_of($c, $r);
	is_deeply([ map { $_->[3] } @rows[ 1 .. $#rows ] ],
		[ map { /^[=+\-@]/ ? "'$_" : $_ } @titles ],
		'CSV: those that look like formulas are defused');
	$own->stop;
	return $r;
}

# What is too much for the article reader is read all the same.
sub test_reader {
	my ($c) = @_;
	my @urls = map { $site->url($_) } '/article-harbour', '/dom?n=70000';
	my $r = batch($c, \@urls, { mode => 'async' }, concurrency => 2,
		extract => { readability => $true });

	$r = ended($c, $r->{runId});
	is($r->{status}, 'succeeded', 'reader: both pages are read')
	    or diag explain $r->{output}{result}{items};
	my %full = extraction_of($c, $r);
	like($full{ $urls[0] }{readability}{text} // '(none)', qr/harbour/,
		'reader: the text of an article');
	my $read = $full{ $urls[1] }{readability};
	ok($read->{text} =~ /node 70000\n/ || $read->{seen},
		'reader: all the text of 70,000 elements, or how much it saw')
	    or diag explain substr $read->{text}, -100;
	ok(@{ $full{ $urls[1] }{content}{sections} } > 0,
		'reader: but not for the rest');
}

sub chunk_is {
	my ($c, $id, $offset, $limit, $want, $name) = @_;
	my $a = $c->call('artifact.get', { artifactId => $id,
		offset => $offset, limit => $limit });

	return is($a->{errorCode}, $want, $name) if $want =~ /^[A-Z_]+$/;
	is_deeply([ sort keys %$a ], [ sort qw(artifactId mimeType totalSize
		offset length data complete) ], "$name: seven fields");
	is($a->{data}, decode('UTF-8', $want), $name);
	is($a->{length}, length $want, "$name: length in bytes");
	return is($a->{offset}, $offset, "$name: offset");
}

# Chunks of text never cut a character, and make up the whole again.
sub test_chunks {
	my ($i, $c, $r, $name) = @_;
	my $row = artifact_of($r, 'extraction');
	my ($id, $size) = @$row{qw(artifact_id size_bytes)};
	my $whole = artifact($c, $id);

	is(length $whole, $size, "$name: as many bytes as are said");
	ok(defined eval {
		decode('UTF-8', my $copy = $whole, Encode::FB_CROAK) },
		"$name: valid UTF-8");
	for my $limit (997, 4096, 262144) {
		is(sha256_hex(artifact($c, $id, $limit)), sha256_hex($whole),
			"$name: the same in chunks of $limit");
	}
	my ($status, $out) = $i->ctl('artifact', 'get', $id);
	if ($i->{drop}) {
		is($status >> 8, 4, "$name: not for another user");
	} else {
		is($status, 0, "$name: browsertaskctl reads it");
		is(sha256_hex($out), sha256_hex($whole),
			"$name: the same bytes");
	}
	for my $bytes (2 .. 4) {
		my $lead = { 2 => '[\xc2-\xdf]', 3 => '[\xe0-\xef]',
			4 => '[\xf0-\xf4]' }->{$bytes};
		my $rest = $bytes - 1;
		next if $whole !~ /$lead[\x80-\xbf]{$rest}/;
		my ($at, $char) = ($-[0], $&);
		chunk_is($c, $id, $at, $_, $char,
			"$name: $bytes bytes, limit $_") for 1 .. $bytes;
		chunk_is($c, $id, $at + $_, 10, 'INVALID_PARAMETER',
			"$name: $_ into a character of $bytes") for 1 .. $rest;
		chunk_is($c, $id, $at - 1, $bytes,
			substr($whole, $at - 1, 1),
			"$name: a chunk ends before a cut character");
	}
	my $end = $c->call('artifact.get',
		{ artifactId => $id, offset => $size });
	is_deeply([ @$end{qw(length data)} ], [ 0, '' ], "$name: the end");
	ok($end->{complete}, "$name: is complete");
	chunk_is($c, $id, $size + 1, 1, 'INVALID_PARAMETER',
		"$name: behind the end");
	chunk_is($c, $id, 0, $_, 'INVALID_PARAMETER', "$name: limit $_")
	    for 0, 262145;
	my ($last) = $whole =~ /(.)\z/s;
	ok($c->call('artifact.get', { artifactId => $id,
		offset => $size - length $last })->{complete},
		"$name: the last chunk says so");
}

sub test_lists {
	my ($c, $r) = @_;
	my $run = $c->call('run.list', { limit => 1000 });
	my ($mine) = grep { $_->{runId} eq $r->{runId} } @{ $run->{runs} };
	my $arts = $c->call('artifact.list', { runId => $r->{runId} });

	is($mine->{status}, $r->{status}, 'run.list has it');
	is_deeply([ sort map { $_->{artifactId} } @{ $arts->{artifacts} } ],
		[ sort @{ $r->{artifactIds} } ], 'artifact.list: the same ids');
	is_deeply([ sort map { $_->{kind} } @{ $arts->{artifacts} } ],
		[ qw(csv extraction task_result) ], 'artifact.list: kinds');
	for my $a (@{ $arts->{artifacts} }) {
		is($a->{expiresAt} - $r->{endedAt}, 86400000,
			"$a->{kind}: kept a day from the run's end");
	}
	my ($tr) = grep { $_->{kind} eq 'task_result' } @{ $arts->{artifacts} };
	is_deeply($json->decode(artifact($c, $tr->{artifactId})), $r->{output},
		'the TaskResult is an artifact');
	my %want = (runId => qr/^run_[0-9A-HJKMNP-TV-Z]{26}$/,
		sessionId => qr/^sess_[0-9A-HJKMNP-TV-Z]{26}$/,
		templateVersion => qr/^\d+\.\d+\.\d+$/, attempt => qr/^1$/,
		map { $_ => qr/^1\d{12}$/ }
		    qw(createdAt updatedAt startedAt endedAt));
	like($r->{$_}, $want{$_}, "the run's $_") for sort keys %want;
	ok(JSON::PP::is_bool($r->{ownsSession}) && $r->{ownsSession},
		'it owns its session');
	ok($r->{createdAt} <= $r->{startedAt}
		&& $r->{startedAt} <= $r->{endedAt}, 'times in order');
}

each_mode(sub {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode)->start;
	my $c = client($i);
	my ($demo, $own);

	subtest "the demo's pages" => sub { $demo = test_demo($c) };
	subtest 'half may fail' => sub { test_threshold($c) };
	subtest CSV => sub { $own = test_csv($c) };
	subtest reader => sub { test_reader($c) } if $mode eq (modes())[0];
	subtest chunks => sub {
		test_chunks($i, $c, $demo, 'demo');
		test_chunks($i, $c, $own, 'own');
	};
	subtest 'what is listed' => sub { test_lists($c, $demo) };
	is($i->stop, 0, 'stops');
	is(left(60, $site->{pid}), '', 'nothing is left');
});
$site->stop;
done_testing();
