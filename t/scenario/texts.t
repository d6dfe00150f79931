#!/usr/bin/perl
# What is on the screen is in the extraction, and nothing else: a page for each
# way to put a text there, t/data/texts. Comments of a page name texts that have
# to be there (says), must not (not), the alternative text of an image (image),
# and a table as CSV (csv); \n, \r and \t are written so.
use strict;
use warnings;
use utf8;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $dir = ($ENV{srcdir} // '.') . '/t/data/texts';
my %sign = (n => "\n", r => "\r", t => "\t");

sub slurp {
	my ($path) = @_;
	open(my $fh, '<:encoding(UTF-8)', $path) or die "$path: $!\n";
	local $/;
	return scalar <$fh>;
}

sub check_page {
	my ($name, $content) = @_;
	my $html = slurp("$dir/$name.html");
	my $text = join "\n", map { $_->{heading}, $_->{text} }
	    @{ $content->{sections} };
	my %said = (says => $text, not => $text,
		image => join("\n", map { $_->{alt} } @{ $content->{images} }),
		csv => join("\n", map { $_->{csv} } @{ $content->{tables} }));
	my $n = 0;

	while ($html =~ /<!-- (says|not|image|csv): (.*?) -->/g) {
		my ($what, $words) = ($1, $2);
		my $want = $words =~ s/\\([nrt])/$sign{$1}/gr;
		my $there = index($said{$what}, $want) >= 0;
		$n++;
		ok($there == ($what ne 'not'), "$name: $what: $words")
		    or diag $said{$what};
	}
	cmp_ok($n, '>', 0, "$name: says what is expected of it");
	is($content->{truncated}, JSON::PP::false, "$name: is read whole");
}

my @names = map { m{([^/]+)\.html$} } glob "$dir/*.html";
my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my $s = batch($c, [ map { $site->url("/$_") } @names ], { mode => 'async' },
	concurrency => 3, extract => { maxContentLength => 50000 });
my $r = ended($c, $s->{runId});
is($r->{status}, 'succeeded', 'all pages are read') or diag explain $r;
my $row = artifact_of($r, 'extraction');
my %full = map { $_->{url} => $_ } @{ JSON::PP->new->utf8->decode(
	artifact($c, $row->{artifact_id})) };
check_page($_, $full{ $site->url("/$_") }{content} // {}) for @names;
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
