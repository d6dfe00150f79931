#!/usr/bin/perl
# One long page of a script that takes three bytes a character ended a whole
# batch with TEMPLATE_LIMIT, and the pages after it were lost.
use strict;
use warnings;
use utf8;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $dir = tempdir('bt-long-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;

sub put {
	my ($name, $html) = @_;
	open(my $fh, '>:encoding(UTF-8)', "$dir/$name.html") or die "$!\n";
	print $fh "<!DOCTYPE html><meta charset=utf-8><title>$name</title>",
	    "<main><h1>$name</h1>$html</main>";
	close $fh or die "$!\n";
}

my $line = '灯台守が残した天気の記録は、四十三冊の帳面にびっしりと書かれていた。' x 10;
put('short', "<p>$line</p>" x 5);
put('again', "<p>$line</p>" x 5);
put('long', "<p>$line</p>" x int(897_000 / length $line));
put('wide', "<p>$line</p>" x int(660_000 / length $line)
	. join '', map { "<a href='/a?$_" . 'x' x 900 . "'>$_</a> " } 1 .. 1000);
put('huge', "<p>$line</p>" x int(2_500_000 / length $line));

my @names = qw(short long wide huge again);
my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my $s = batch($c, [ map { $site->url("/$_") } @names ], { mode => 'async' },
	concurrency => 1, csv => JSON::PP::true, extract => {
		readability => JSON::PP::true, maxContentLength => 50000,
		maxElements => 1000 });
diag explain $s if !$s->{runId};
my $r = ended($c, $s->{runId});
is($r->{status}, 'succeeded', 'long pages do not end their batch')
    or diag explain $r->{error} // $r;
my %item = items($r);
ok($item{ $site->url("/$_") }{success}, "$_: is read") for @names;

my $row = artifact_of($r, 'extraction');
my %full = map { $_->{url} => $_ } @{ JSON::PP->new->utf8->decode(
	$row ? artifact($c, $row->{artifact_id}) : '[]') };
for my $name (@names) {
	my $said = $full{ $site->url("/$name") }{readability} // {};
	my $text = $said->{text} // '';
	like($text, qr/^\s*(?:$name\s+)?灯台守が/, "$name: has its text");
	is(!!$said->{truncated}, $name =~ /^(long|huge)$/,
		"$name: says whether it was cut");
	utf8::encode($text);
	cmp_ok(length $text, '<=', 2 << 20, "$name: at most 2 MiB of it");
	cmp_ok(length $text, '>', 2_000_000, "$name: and nearly that")
	    if $name =~ /^(long|huge)$/;
}
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
