#!/usr/bin/perl
# What stands in shadow roots and frames of the page's own origin was missing in
# readability and among the links, and nothing said that frames of others were
# not read.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

my $dir = tempdir('bt-frames-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
my $other = BrowserTask::Scenario::Site->new;

sub put {
	my ($name, $html) = @_;
	open(my $fh, '>', "$dir/$name.html") or die "$!\n";
	print $fh "<!DOCTYPE html><meta charset=utf-8><title>$name</title>$html";
	close $fh or die "$!\n";
}

sub words {
	my ($about) = @_;
	return join '', map { "<p>Paragraph $_ of the $about: the harbour, the "
		. "lighthouse, and the boats that come home late, told at "
		. "length, with commas, and calm.</p>" } 1 .. 6;
}

put('shadow', '<my-article><h2 slot=head>In the light</h2>' . words('light')
	. '<i slot=none>Given to no slot.</i></my-article><script>'
	. 'const r = document.querySelector("my-article").attachShadow('
	. '{mode: "open"}); r.innerHTML = `<article><slot name=head></slot>'
	. words('shadow') . '<slot></slot><a href="/in-shadow">In the shadow</a>'
	. '<my-link>Through a slot</my-link><img src="/in-shadow.png" alt=dark '
	. 'width=9 height=9></article>`;const l = r.querySelector("my-link");'
	. 'l.attachShadow({mode: "open"}).innerHTML = '
	. '`<a href="/slotted"><slot></slot></a>`</script>');
put('inner', '<a href="/in-frame">In the frame</a>' . words('frame'));
put('outer', words('page') . '<a href="/plain">Plain</a>'
	. '<iframe src="/inner" width=600 height=400></iframe>'
	. '<iframe src="/shadow" style="display:none"></iframe>');
put('set', '<frameset cols="50%,50%"><frame src="/inner"><frame src="/outer">'
	. '<noframes>No frames here.</noframes></frameset>');
put('foreign', words('page') . '<iframe src="' . $other->url('/article-harbour')
	. '" width=600 height=400></iframe><iframe src="'
	. $other->url('/article-harbour?' . 'x' x 400)
	. '" width=600 height=400></iframe><iframe src="' . $other->url('/corpus/1')
	. '" width=0 height=0 style="border:0"></iframe>');

my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my %page;
my @names = qw(shadow outer set foreign);
my $s = batch($c, [ map { $site->url("/$_") } @names ], { mode => 'async' },
	extract => { readability => JSON::PP::true, content => JSON::PP::true });
my $r = ended($c, $s->{runId});
my $row = artifact_of($r, 'extraction');
@page{@names} = @{ JSON::PP->new->utf8->decode(
	artifact($c, $row->{artifact_id})) };

sub links { return join ' ', map { "$_->{text}=" . ($_->{href} =~ s/.*\///r) }
	    @{ $_[0]{content}{links} } }
sub article { return $page{ $_[0] }{readability}{text} // '' }

is(links($page{shadow}), 'In the shadow=in-shadow Through a slot=slotted',
	'links in shadow roots, one whose text is slotted');
is($page{shadow}{content}{images}[0]{alt}, 'dark', '... and images');
my $text = article('shadow');
like($text, qr/Paragraph 6 of the shadow.*Paragraph 1 of the light.*Through/s,
	'readability: shadow roots, and slots in their place');
like($text, qr/In the light.*Paragraph 1 of the shadow/s, '... by name');
unlike($text, qr/Given to no slot/, '... without what is in no slot');
is(links($page{outer}), 'Plain=plain In the frame=in-frame',
	'links in a frame of the same origin');
$text = article('outer');
like($text, qr/Paragraph 1 of the page.*Paragraph 6 of the frame/s,
	'readability: the frame in its place');
unlike($text, qr/of the shadow/, '... but no frame that is not drawn');
$text = article('set');
like($text, qr/of the frame.*Paragraph 6 of the page.*of the frame/s,
	'readability: a frameset');
unlike($text, qr/No frames/, '... without what is for others');
my $told = $page{foreign}{content}{framesNotRead};
my $host = $other->url('/') =~ s{^https?://|/$}{}gr;
is_deeply($told, { total => 2, frames => [
	{ host => $host, url => $other->url('/article-harbour') },
	{ host => $host, url => '' } ] },
	'frames of others are told, those that are drawn');
ok(!exists $page{outer}{content}{framesNotRead}, '... where there are any');
is_deeply([ map { $_->{framesNotRead} } @{ $r->{output}{result}{items} } ],
	[ undef, undef, undef, 2 ], '... with the item, too');
is($i->stop, 0, 'stops');
$_->stop for $site, $other;
done_testing();
